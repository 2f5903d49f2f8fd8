import { membersOf, readsBasic } from '../authenticators/any-of.js'
import { hashesPasswords } from '../authenticators/basic.js'
import { ownProperty } from '../common/objects.js'
import { pluginRouteOf, tooMany, type PluginRoute, type Responses } from '../http/plugin-route.js'
import { needsText } from '../marks/access.js'
import type { DeclaredRoute } from '../app/routes.js'
import type { Feature, Registration, RoutePolicy } from '../feature.js'

const busy = { 503: 'The server is busy.' }
const headers = { 'Retry-After': { type: 'integer', description: 'Seconds to wait.' } }

/** The responses that the plugin can send for a protected route, for the `schema.response` of its OpenAPI document. */
export function responsesOf(policy: RoutePolicy, methods: readonly string[]): Responses {
  const { mode, authenticator, allowsAnonymous, needs, registration } = policy
  const { options, features } = registration
  const members = membersOf(authenticator)
  const hasPasswords = readsBasic(authenticator)
  const isAsked = features.some(({ authenticators = {} }) =>
    Object.values(authenticators).some((each) => members.includes(each)),
  )
  const isBusy =
    members.some(hashesPasswords) || isAsked || options.userServiceTimeout !== undefined
  const missing = allowsAnonymous ? '' : 'missing or '
  const { scope = null, role = null, ...levels } = needs ?? {}
  const [named, asked] = [needsText({ scope, role }, '`'), needsText(levels)]
  const level = asked && ` Or the authentication is not enough: needs ${asked}.`
  const responses = {
    200: 'Default Response',
    ...(mode !== 'try' && { 401: `The credentials are ${missing}not accepted.${level}` }),
    ...(named !== '' && { 403: `Needs ${named}.` }),
    ...(hasPasswords && options.throttle !== false && tooMany),
    ...(isBusy && busy),
  }
  const all = withNotes(responses, features, { methods, policy })
  // `onUnauthorized` may send any body.
  const isAnswering = members.some(({ onUnauthorized }) => onUnauthorized !== undefined)
  return withBodies(all, isAnswering ? {} : rejectionSchema(registration))
}

/** The responses of one of the plugin's own routes, as {@link responsesOf} has them. */
export function pluginResponses({ notes, method }: PluginRoute, registration: Registration) {
  const { features, options, errorBody } = registration
  const rejection = rejectionSchema(registration)
  const responses = {
    // The app's error handler may send any body if `errorBody` is not set.
    400: { ...(errorBody && rejection), description: 'The body is malformed.' },
    ...notes?.responses,
    ...(options.throttle !== false && tooMany),
    ...busy,
  }
  const all = withNotes(responses, features, { methods: [method], policy: null })
  return withBodies(all, rejection)
}

/** Adds the responses of features. A status with several reasons names all of them. */
function withNotes(
  responses: Responses,
  features: readonly Feature[],
  route: Parameters<NonNullable<Feature['notes']>['responses']>[0],
): Responses {
  const all: Record<string, string | { readonly description?: string }> = { ...responses }
  const added = features.flatMap(({ notes }) => Object.entries(notes?.responses(route) ?? {}))
  for (const [status, reason] of added) {
    const present = all[status]
    const known = typeof present === 'object' ? present.description : present
    const description = known === undefined || known === reason ? reason : `${known} Or: ${reason}`
    all[status] = typeof present === 'object' ? { ...present, description } : description
  }
  return all
}

/** Adds the body that a description leaves out: the type `null` for none, or that of a rejection. */
function withBodies(responses: Responses, rejection: object): Responses {
  const entries = Object.entries(responses).map(([status, response]) => {
    if (typeof response !== 'string') return [status, response]
    const body = Number(status) < 400 ? { type: 'null' } : rejection
    return [status, { ...body, description: response, ...(/429|503/.test(status) && { headers }) }]
  })
  return Object.fromEntries(entries) as Responses
}

function rejectionSchema({ errorBody, errorSchema }: Registration): object {
  return errorBody === undefined
    ? { type: 'object', properties: { error: { type: 'string' } }, required: ['error'] }
    : (errorSchema ?? { type: 'object', additionalProperties: true })
}

/** Unique, for generated clients: `login`, or by the path if another registration or the app has that: `adminLogin`. */
export function operationIdOf({ kind }: PluginRoute, { url, all }: DeclaredRoute) {
  const words = url.split(/[^a-z\d]+/i).filter((word) => word !== '')
  if (words.at(-1) !== kind) words.push(kind)
  const isOnly = all.filter(({ options }) => pluginRouteOf(options)?.kind === kind).length === 1
  const taken = new Set(all.map(({ options }) => ownProperty(options.schema ?? {}, 'operationId')))
  const names = [isOnly ? [kind] : words, words, ['post', ...words]].map((each) =>
    each.join(' ').replaceAll(/ (.)/g, (_, letter: string) => letter.toUpperCase()),
  )
  return names.find((name) => !taken.has(name))
}
