// Loaded only where @fastify/swagger is registered.
import type { RouteOptions } from 'fastify'
import { membersOf, readsBasic } from '../authenticators/any-of.js'
import { hashesPasswords } from '../authenticators/basic.js'
import { readsOwnTokens } from '../authenticators/jwt.js'
import { decide, markOf, methodsOf, routeOf, type DeclaredRoute } from '../app/routes.js'
import { ownRouteOf } from '../login/own-route.js'
import { registrationOf, type Registration } from '../registration.js'
import { needsText } from '../marks/access.js'
import { requireSchemes, type OpenApiDocument, type Requirement } from './schemes.js'
import type { OwnRoute, Responses } from '../login/own-route.js'
import type { Needs, Plan } from '../marks/plan.js'
import type { Authenticator } from '../../types/authenticator.js'

/** The members of a route's schema that are read here. */
interface RouteSchema {
  readonly body?: unknown
  readonly description?: string
  readonly hide?: boolean
  readonly response?: object
  readonly security?: readonly Requirement[]
}

/** The argument of a `transform` of @fastify/swagger. */
interface TransformInput {
  readonly schema?: RouteSchema
  readonly url: string
  readonly route: RouteOptions
  readonly openapiObject?: OpenApiDocument
  readonly swaggerObject?: OpenApiDocument
}

/** The option `transform` of @fastify/swagger. */
export type Transform = (input: TransformInput) => { schema?: RouteSchema; url?: string }

/** Runs the app's own transform, and adds the access to the route. */
export function transform(
  appTransform: Transform | null,
  input: TransformInput,
): ReturnType<Transform> {
  const { route, schema = {}, openapiObject, swaggerObject } = input
  const isOwn = ownRouteOf(route) !== undefined
  // The app's transform may expect schemas of another library, such as Zod, instead of our body.
  const given = isOwn ? { ...input, schema: { ...schema, body: undefined } } : input
  const result = appTransform?.(given) ?? {}
  const transformed = result.schema ?? schema
  const declared = routeOf(route.config)
  const notes = declared === undefined ? null : notesOf(declared)
  const document = openapiObject ?? swaggerObject
  if (notes === null || document === undefined || transformed.hide === true) return result
  const described = describe(transformed, notes, document)
  return { ...result, schema: isOwn ? { ...described, body: schema.body } : described }
}

/** What a document shows of a route, besides its schema. @returns null for a route without a mark, inherited or not */
function notesOf(route: DeclaredRoute) {
  const { options, server } = route
  const open = {
    accepted: [] as readonly Authenticator[],
    isOptional: false,
    needs: null as Needs | null,
    responses: {} as Responses,
  }
  const registration = registrationOf(server)
  const own = ownRouteOf(options)
  if (own !== undefined && registration !== undefined) {
    const accepted = own.notes.accepts ?? []
    const responses = ownResponses(own, registration)
    return { ...open, registration, accepted, isOptional: true, responses }
  }
  // A document can be asked for before the app is ready.
  const plan = route.plan === undefined ? decide(route) : route.plan
  if (plan !== null) {
    const { members: accepted, allowsAnonymous: isOptional, needs } = plan
    const responses = responsesOf(plan, methodsOf(options.method))
    return { accepted, registration: plan.registration, isOptional, needs, responses }
  }
  return registration === undefined || markOf(route) === undefined
    ? null
    : { ...open, registration }
}

/** Adds notes to a schema, whose own members take precedence. */
function describe(
  schema: RouteSchema,
  { accepted, registration, isOptional, needs, responses }: NonNullable<ReturnType<typeof notesOf>>,
  document: OpenApiDocument,
): RouteSchema {
  const scope = needs?.scope ?? null
  // Also called where the schema has its own "security", which may name these schemes.
  const { requirements, listsScopes } = requireSchemes(document, accepted, registration, scope)
  // First, for tools that show or use the first alternative. It is also stated where nothing else can be, but the
  // document asks for credentials everywhere; an open route needs an empty list there.
  const isGlobal = document.security !== undefined
  const needsNone = isOptional && accepted.length > 0 && (requirements.length > 0 || isGlobal)
  const security = needsNone ? [{}, ...requirements] : requirements
  const isStated = security.length > 0 || (accepted.length === 0 && isGlobal)
  const isListed = listsScopes && schema.security === undefined
  const words = needs === null ? '' : needsText(isListed ? { role: needs.role } : needs, '`')
  const description = [schema.description, words && `Needs ${words}.`].filter(Boolean).join('\n\n')
  const ours = Object.entries(responses)
    .filter(([status]) => schema.response === undefined || Number(status) >= 400)
    .map(([status, response]) => [status, responseSchema(response)])
  return {
    ...schema,
    ...(isStated && { security: schema.security ?? security }),
    ...(description !== '' && { description }),
    ...(ours.length > 0 && { response: { ...Object.fromEntries(ours), ...schema.response } }),
  }
}

/** For the `schema.response` of a route, where the type `null` stands for no body. */
function responseSchema(response: string | object): object {
  return typeof response === 'string' ? { description: response, type: 'null' } : response
}

const tooMany = { 429: 'Too many failed attempts.' }
const busy = { 503: 'The server is busy.' }

/** The responses that the plugin can send for a protected route, by status, for its OpenAPI document. */
function responsesOf(
  { mode, authenticator, allowsAnonymous, needs, registration }: Plan,
  methods: readonly string[],
): Responses {
  const { options, tokenSources, features } = registration
  const members = membersOf(authenticator)
  const hasPasswords = readsBasic(authenticator)
  const forbidden = [
    ...(needs === null ? [] : [`Needs ${needsText(needs, '`')}.`]),
    ...(hasPasswords || members.some(readsOwnTokens)
      ? tokenSources.flatMap((source) => source.forbidden(methods) ?? [])
      : []),
  ]
  const asked = features.filter(({ authenticators = {} }) =>
    Object.values(authenticators).some((each) => members.includes(each)),
  )
  const countsFailures = hasPasswords || asked.some((feature) => feature.countsFailures)
  const isBusy =
    members.some(hashesPasswords) || asked.length > 0 || options.userServiceTimeout !== undefined
  const missing = allowsAnonymous ? '' : 'missing or '
  return {
    200: 'Default Response',
    ...(mode !== 'try' && { 401: `The credentials are ${missing}not accepted.` }),
    ...(forbidden.length > 0 && { 403: forbidden.join(' Or: ') }),
    ...(countsFailures && options.throttle !== false && tooMany),
    ...(isBusy && busy),
  }
}

function ownResponses({ notes }: OwnRoute, { carrier, options }: Registration): Responses {
  return {
    400: 'The body is malformed.',
    ...notes.responses,
    ...(carrier.forbidden !== null && { 403: carrier.forbidden }),
    ...(options.throttle !== false && tooMany),
    ...busy,
  }
}
