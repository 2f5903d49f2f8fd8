import { membersOf, readsBasic } from '../authenticators/any-of.js'
import { hashesPasswords } from '../authenticators/basic.js'
import { readsLocalTokens } from '../authenticators/jwt.js'
import { ownProperty } from '../common/objects.js'
import { pluginRouteOf, type PluginRoute, type Responses } from '../http/plugin-route.js'
import { needsText } from '../marks/access.js'
import type { DeclaredRoute } from '../app/routes.js'
import type { Registration, RoutePolicy } from '../feature.js'

const tooMany = { 429: 'Too many failed attempts.' }
const busy = { 503: 'The server is busy.' }
const headers = { 'Retry-After': { type: 'integer', description: 'Seconds to wait.' } }

/** The responses that the plugin can send for a protected route, for the `schema.response` of its OpenAPI document. */
export function responsesOf(
  { mode, authenticator, allowsAnonymous, needs, registration }: RoutePolicy,
  methods: readonly string[],
): Responses {
  const { options, features } = registration
  const members = membersOf(authenticator)
  const hasPasswords = readsBasic(authenticator)
  const hasSources = hasPasswords || members.some(readsLocalTokens)
  const forbidden = (hasSources ? features : []).flatMap(
    ({ notes }) => notes?.forbidden?.(methods) ?? [],
  )
  if (needs !== null) forbidden.unshift(`Needs ${needsText(needs, '`')}.`)
  const asked = features.filter(({ authenticators = {} }) =>
    Object.values(authenticators).some((each) => members.includes(each)),
  )
  const countsFailures = hasPasswords || asked.some(({ notes }) => notes?.countsFailures)
  const isBusy =
    members.some(hashesPasswords) || asked.length > 0 || options.userServiceTimeout !== undefined
  const missing = allowsAnonymous ? '' : 'missing or '
  const responses = {
    200: 'Default Response',
    ...(mode !== 'try' && { 401: `The credentials are ${missing}not accepted.` }),
    ...(forbidden.length > 0 && { 403: forbidden.join(' Or: ') }),
    ...(countsFailures && options.throttle !== false && tooMany),
    ...(isBusy && busy),
  }
  // `onUnauthorized` may send any body.
  const isAnswering = members.some(({ onUnauthorized }) => onUnauthorized !== undefined)
  return withBodies(responses, isAnswering ? {} : rejectionSchema(registration))
}

/** The responses of one of the plugin's own routes, as {@link responsesOf} has them. */
export function pluginResponses(
  { notes, method }: PluginRoute,
  registration: Registration,
): Responses {
  const { features, options, errorBody } = registration
  const forbidden = features.flatMap((feature) => feature.notes?.forbidden?.([method]) ?? [])
  const rejection = rejectionSchema(registration)
  const responses = {
    // The app's error handler may send any body if `errorBody` is not set.
    400: { ...(errorBody && rejection), description: 'The body is malformed.' },
    ...notes?.responses,
    ...(forbidden.length > 0 && { 403: forbidden.join(' Or: ') }),
    ...(options.throttle !== false && tooMany),
    ...busy,
  }
  return withBodies(responses, rejection)
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

/**
 * The name of an operation for generated clients, which no other may have: `login`; or where several registrations have
 * such a route, or the app gives that name to another one, a name that is made from the path: `adminLogin`.
 */
export function operationIdOf(
  { kind }: PluginRoute,
  { url, all }: DeclaredRoute,
): string | undefined {
  const words = url.split(/[^a-z\d]+/i).filter((word) => word !== '')
  if (words.at(-1) !== kind) words.push(kind)
  const isOnly = all.filter(({ options }) => pluginRouteOf(options)?.kind === kind).length === 1
  const taken = new Set(all.map(({ options }) => ownProperty(options.schema ?? {}, 'operationId')))
  const names = [isOnly ? [kind] : words, words, ['post', ...words]].map((each) =>
    each.join(' ').replaceAll(/ (.)/g, (_, letter: string) => letter.toUpperCase()),
  )
  return names.find((name) => !taken.has(name))
}
