import { schemesOf } from '../guard/response.js'
import { needsInWords } from './access.js'
import { factsOf, membersOf, readsCookie, type BusyStatus } from '../authenticators/facts.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { Needs, Plan } from '../marks/plan.js'
import type { Registration } from '../registration.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { MessageKey } from '../../types/messages.js'

/** A header of a response. */
export interface Header {
  readonly description: string
  readonly type: 'string' | 'integer'
}

/** How a document describes a refusal. */
export interface Reply {
  readonly status: 401 | 403 | BusyStatus
  readonly description: string
  readonly headers: Readonly<Record<string, Header>>
  /** An example of the text in `{"error": …}`; null when the app writes the body itself. */
  readonly text: string | null
}

const challenge: Reply['headers'] = {
  'WWW-Authenticate': {
    description: 'The schemes that are accepted (RFC 9110 §11.6.1).',
    type: 'string',
  },
}
const scopeChallenge: Reply['headers'] = {
  'WWW-Authenticate': {
    description: 'Where a token lacks a scope: which one is needed (RFC 6750 §3.1).',
    type: 'string',
  },
}
const retryAfter: Reply['headers'] = {
  'Retry-After': {
    description: 'Seconds after which another attempt may succeed.',
    type: 'integer',
  },
}
const busy: Readonly<Record<BusyStatus, readonly [description: string, key: MessageKey]>> = {
  429: ['Too many failed attempts.', 'auth.too-many-attempts'],
  503: ['The server is busy.', 'auth.overloaded'],
}

/**
 * The refusals that a marked route may send.
 *
 * @param methods - of the route
 */
export function repliesOf(
  plan: Plan,
  registration: Registration,
  methods: readonly string[],
): Reply[] {
  const members = membersOf(plan.authenticator)
  const own = members.some(({ onUnauthorized }) => onUnauthorized !== undefined)
  const statuses = [
    ...members.flatMap((member) => busyOf(member, registration.options)),
    ...busyAccess(plan.needs, registration.options),
  ]
  const replies: Reply[] = [
    ...unauthorized(plan, registration),
    ...forbidden(plan, registration, mayBeCrossSite(plan, registration, methods)),
    ...[...new Set(statuses)].map((status) => busyReply(status, registration)),
  ]
  return own ? replies.map((reply) => ({ ...reply, headers: {}, text: null })) : replies
}

/** The mark 'try' refuses no credentials, so there is no 401. */
function unauthorized({ mode, authenticator, nobodyPasses }: Plan, registration: Registration) {
  if (mode === 'try') return []
  const challenged = schemesOf(authenticator).length > 0
  const [description, key] = nobodyPasses
    ? (['The credentials are not accepted.', 'auth.invalid-credentials'] as const)
    : (['The credentials are missing or not accepted.', 'auth.no-credentials-provided'] as const)
  return [refusal(description, key, challenged, registration)]
}

/** Whether a cookie can authenticate requests that change something. */
function mayBeCrossSite(
  { members }: Plan,
  { cookies }: Registration,
  methods: readonly string[],
): boolean {
  if (cookies === null || methods.every((method) => cookies.safeMethods.has(method))) return false
  return members.flatMap(membersOf).some(readsCookie)
}

/** The refusal of a user who lacks what the mark asks for, and of pages of other sites. */
function forbidden(
  { needs, authenticator }: Plan,
  registration: Registration,
  isCrossSite: boolean,
): Reply[] {
  if (needs === null) return isCrossSite ? [crossSite(otherSite, registration)] : []
  const { scope } = needs
  const key = scope === null ? 'auth.forbidden' : 'auth.insufficient-scope'
  const isBearer = schemesOf(authenticator).some((scheme) => scheme.toLowerCase() === 'bearer')
  return [
    {
      status: 403,
      // With the names, which Swagger UI shows here, and of a Bearer scheme's requirement does not.
      description: `The user lacks what is needed: ${needsInWords(needs)}.${isCrossSite ? ` Or: ${otherSite}` : ''}`,
      headers: scope !== null && isBearer ? scopeChallenge : {},
      text: textOf(key, registration),
    },
  ]
}

export const otherSite = 'A page of another site may have sent the request.'

export function crossSite(description: string, registration: Registration): Reply {
  return { status: 403, description, headers: {}, text: textOf('auth.cross-site', registration) }
}

function busyOf(authenticator: Authenticator, options: ResolvedOptions): readonly BusyStatus[] {
  return factsOf(authenticator).busy?.(options) ?? []
}

/** A function of `access` that takes longer than `userServiceTimeout` is a 503. */
function busyAccess(
  needs: Needs | null,
  { access, userServiceTimeout }: ResolvedOptions,
): BusyStatus[] {
  const isAsked =
    (needs?.scope && access?.scopesOf !== undefined) ||
    (needs?.role && access?.rolesOf !== undefined)
  return isAsked && userServiceTimeout !== undefined ? [503] : []
}

export function busyReply(status: BusyStatus, registration: Registration): Reply {
  const [description, key] = busy[status]
  return { status, description, headers: retryAfter, text: textOf(key, registration) }
}

export function refusal(
  description: string,
  key: MessageKey,
  isChallenged: boolean,
  registration: Registration,
): Reply {
  const headers = isChallenged ? challenge : {}
  return { status: 401, description, headers, text: textOf(key, registration) }
}

/** A message in the default language. */
function textOf(key: MessageKey, { translator, options }: Registration): string {
  return translator.translate(key, options.defaultLanguage).text
}
