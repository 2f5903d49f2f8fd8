// Loaded only where @fastify/swagger is registered.
import type { RouteOptions } from 'fastify'
import { decide, markOf, methodsOf, routeOf, type DeclaredRoute } from '../app/routes.js'
import { pluginRouteOf, type Responses } from '../http/plugin-route.js'
import { registrationOf } from '../request/registration.js'
import { needsText } from '../marks/access.js'
import { operationIdOf, pluginResponses, responsesOf } from './responses.js'
import { requireSchemes, type OpenApiDocument, type Requirement } from './schemes.js'
import type { RoutePolicy } from '../feature.js'

interface RouteSchema {
  readonly body?: unknown
  readonly querystring?: unknown
  readonly description?: string
  readonly hide?: boolean
  readonly operationId?: string | undefined
  readonly response?: object
  readonly security?: readonly Requirement[]
}

interface TransformInput {
  readonly schema?: RouteSchema
  readonly url: string
  readonly route: RouteOptions
  readonly openapiObject?: OpenApiDocument
  readonly swaggerObject?: OpenApiDocument
}

export type Transform = (input: TransformInput) => { schema?: RouteSchema; url?: string }

/** Runs the app's own transform, and adds the access to the route. */
export function transform(
  appTransform: Transform | null,
  input: TransformInput,
): ReturnType<Transform> {
  const { route, schema = {}, openapiObject, swaggerObject } = input
  const own = pluginRouteOf(route)
  // The app's transform may expect schemas of another library, such as Zod, instead of ours.
  const { body, querystring } = schema
  const without = { ...schema, body: undefined, querystring: undefined }
  const given = own ? { ...input, schema: without } : input
  const result = appTransform?.(given) ?? {}
  const transformed = result.schema ?? schema
  const declared = routeOf(route.config)
  const notes = declared === undefined ? null : notesOf(declared)
  const document = openapiObject ?? swaggerObject
  if (notes === null || document === undefined || transformed.hide === true) return result
  const described = describe(transformed, notes, document)
  const more = own?.givesTokens && notes.registration.carrier.documented
  return { ...result, schema: own ? { ...more, ...described, body, querystring } : described }
}

interface Notes extends Pick<
  RoutePolicy,
  'members' | 'allowsAnonymous' | 'needs' | 'registration'
> {
  readonly responses: Responses
  readonly operationId?: string | undefined
}

/** @returns null for a route without a mark, inherited or not */
function notesOf(route: DeclaredRoute): Notes | null {
  const registration = registrationOf(route.server)
  const own = pluginRouteOf(route.options)
  if (own !== undefined && registration !== undefined) {
    const members = own.notes?.accepts ?? []
    const responses = pluginResponses(own, registration)
    const operationId = operationIdOf(own, route)
    const { mode = 'required' } = Object(own.mark ?? { mode: 'try' }) as { mode?: string }
    const allowsAnonymous = mode !== 'required'
    return { registration, members, allowsAnonymous, needs: null, responses, operationId }
  }
  // A document can be asked for before the app is ready.
  const policy = route.policy === undefined ? decide(route) : route.policy
  if (policy) return { ...policy, responses: responsesOf(policy, methodsOf(route.options.method)) }
  if (registration === undefined || markOf(route) === undefined) return null
  return { registration, members: [], allowsAnonymous: false, needs: null, responses: {} }
}

/** Adds notes to a schema, whose own members take precedence. */
function describe(schema: RouteSchema, notes: Notes, document: OpenApiDocument): RouteSchema {
  const { members, registration, allowsAnonymous, needs, responses } = notes
  const { operationId = notes.operationId } = schema
  const scope = needs?.scope ?? null
  // Schemes are added even if the route has its own "security", which may name them.
  const { requirements, listsScopes } = requireSchemes(document, members, registration, scope)
  // The empty alternative comes first, for tools that show or use only one. An empty list makes an open route open
  // where the document asks for credentials everywhere.
  const isGlobal = document.security !== undefined
  const needsNone = allowsAnonymous && members.length > 0 && (requirements.length > 0 || isGlobal)
  const security = needsNone ? [{}, ...requirements] : requirements
  const isStated = security.length > 0 || (members.length === 0 && isGlobal)
  const isListed = listsScopes && schema.security === undefined
  const words = needs === null ? '' : needsText(isListed ? { ...needs, scope: null } : needs, '`')
  const description = [schema.description, words && `Needs ${words}.`].filter(Boolean).join('\n\n')
  const ours = Object.entries(responses).filter(
    ([status]) => schema.response === undefined || Number(status) >= 400,
  )
  return {
    ...schema,
    ...(operationId !== undefined && { operationId }),
    ...(isStated && { security: schema.security ?? security }),
    ...(description !== '' && { description }),
    ...(ours.length > 0 && { response: { ...Object.fromEntries(ours), ...schema.response } }),
  }
}
