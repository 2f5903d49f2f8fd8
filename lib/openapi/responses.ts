import { membersOf, readsBasic } from '../authenticators/any-of.js'
import { hashesPasswords } from '../authenticators/basic.js'
import { readsOwnTokens } from '../authenticators/jwt.js'
import { needsText } from '../marks/access.js'
import type { OwnRoute, Responses } from '../login/own-route.js'
import type { Plan } from '../marks/plan.js'
import type { Registration } from '../registration.js'

const tooMany = { 429: 'Too many failed attempts.' }
const busy = { 503: 'The server is busy.' }

/** The responses of a protected route, besides those in its schema. */
export function responsesOf(
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

export function ownResponses({ notes }: OwnRoute, { carrier, options }: Registration): Responses {
  return {
    400: 'The body is malformed.',
    ...notes.responses,
    ...(carrier.forbidden !== null && { 403: carrier.forbidden }),
    ...(options.throttle !== false && tooMany),
    ...busy,
  }
}
