import { membersOf } from '../authenticators/any-of.js'
import { rejectionOf, type RejectionRow } from '../errors/rejections.js'
import { stepUpOf } from './level.js'
import { credentialsOf } from '../http/authorization.js'
import type { Registration, RoutePolicy } from '../feature.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { NeededNames } from '../../types/marks.js'

const stepUpCode = 'ERR_AUTH_INSUFFICIENT_AUTHENTICATION'

type Parameters = Readonly<Record<string, string | undefined>>

/**
 * Returns a function that sets the header `WWW-Authenticate`: for a 401 a challenge for each scheme; for a token that
 * lacks a scope one for Bearer alone, since no other credentials would help (RFC 6750 §3.1).
 * @param readsHeader - whether errors are about the `Authorization` header
 */
export function challengesOf(
  registration: Registration,
  schemes: readonly string[],
  scope: NeededNames | null = null,
  readsHeader = true,
): RoutePolicy['setChallenges'] {
  // Made once for each code: made for each request, those of a resource took 9 % of the requests that are rejected.
  const made = new Map<string, readonly string[]>()
  // Clients request all scopes that are listed here, so of several alternatives only the first is listed.
  const needed = scope && ('all' in scope ? scope.all.join(' ') : String(scope.any[0]))
  return (error, { headers }, reply) => {
    const { code } = error
    const row = rejectionOf(code) as RejectionRow
    const lacksScope = code === 'ERR_AUTH_INSUFFICIENT_SCOPE'
    const stepUp = code === stepUpCode ? (stepUpOf(error) ?? {}) : null
    const hasToken = readsHeader && Boolean(credentialsOf(headers.authorization, 'Bearer'))
    if (row.status !== 401 && !(lacksScope && hasToken)) return
    const key = [code, hasToken, stepUp?.acr_values].join()
    const lines = made.get(key) ?? linesOf(registration, schemes, needed, row, hasToken, stepUp)
    made.set(key, lines)
    if (lines.length === 0) return
    // Each challenge gets a header line, because browsers do not split a line that holds several.
    void reply.header('www-authenticate', lines.length === 1 ? lines[0] : [...lines])
  }
}

function linesOf(
  { options: { realm }, features }: Registration,
  schemes: readonly string[],
  scope: string | null,
  { status, description }: RejectionRow,
  hasToken: boolean,
  stepUp: Parameters | null,
): readonly string[] {
  const lacksScope = status === 403
  // A challenge names the problem only where the request has a token (RFC 6750 §3.1).
  const named = lacksScope ? 'insufficient_scope' : 'invalid_token'
  const problem = (hasToken || stepUp) && {
    error: stepUp ? 'insufficient_user_authentication' : named,
    error_description: description,
    ...stepUp,
    ...(lacksScope && scope !== null && { scope }),
  }
  const more = features
    .map((feature) => feature.challenge?.({ status, scope }))
    .filter((parameters) => parameters !== undefined)
  const ofBearer: Parameters = Object.assign({ realm }, problem, ...more)
  // Also where the token came in a cookie: other credentials would not help (RFC 9470 §3).
  if (stepUp) return [challenge('Bearer', ofBearer)]
  // MCP clients read the first challenge alone.
  const inOrder = more.length === 0 ? schemes : schemes.toSorted(bearerFirst)
  return (lacksScope ? schemes.filter(isBearer) : inOrder).map((scheme) =>
    // Basic challenges have `charset` (RFC 7617 §2.1).
    challenge(
      scheme,
      isBearer(scheme) ? ofBearer : { realm, charset: isBasic(scheme) ? 'UTF-8' : undefined },
    ),
  )
}

/** The schemes of an authenticator and its members, each once. */
export function challengeSchemes(authenticator: Authenticator): readonly string[] {
  const all = membersOf(authenticator).map(({ scheme }) => scheme)
  const schemes = all.filter((scheme) => scheme !== undefined)
  return schemes.filter((scheme, index) => schemes.findIndex(sameAs(scheme)) === index)
}

function sameAs(scheme: string): (other: string) => boolean {
  return (other) => other.toLowerCase() === scheme.toLowerCase()
}

export const isBearer = sameAs('Bearer')
const isBasic = sameAs('Basic')
const bearerFirst = (one: string, other: string): number =>
  Number(isBearer(other)) - Number(isBearer(one))

/** A quoted-string (RFC 9110 §5.6.4). */
function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** A challenge for `WWW-Authenticate` (RFC 9110 §11.6.1). @param parameters - by name; those that are undefined are left out */
function challenge(scheme: string, parameters: Parameters): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${quote(value)}`,
  )
  return `${scheme} ${given.join(', ')}`
}
