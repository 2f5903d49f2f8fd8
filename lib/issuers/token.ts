import { typOf } from '../common/typ.js'
import { refusal, type AuthenticationError } from '../errors.js'
import type { ResolvedIssuer } from '../options/resolve-issuers.js'

/** What the header of a token says about its key. */
export interface TokenHeader {
  readonly kid: string
  readonly alg: string
}

/** The reason of a refusal for which another key set may hold the key. */
export const unknownKid = 'kid unknown'

type Expected = Pick<ResolvedIssuer, 'issuer' | 'rules'>

/** Compact serialization (RFC 7515 §7.1): three parts of base64url. */
const compact = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Reads the header of a token whose signature is not verified yet. All that is taken from it is which of the keys that
 * we have is asked; a key, or the address of one, never (RFC 8725 §3.10).
 * A token that names another issuer needs none of our keys, and is refused here.
 *
 * @throws AuthenticationError
 */
export function readHeader(token: string, { issuer, rules }: Expected): TokenHeader {
  if (!compact.test(token)) throw invalid('no token')
  const header = partOf(token, 0)
  const { kid, alg } = header
  if (unverifiedIssuer(token) !== issuer) throw invalid('claim iss')
  if (!rules.typ.has(typOf(header))) throw invalid('typ')
  if (typeof kid !== 'string') throw invalid('kid missing')
  if (typeof alg !== 'string') throw invalid('alg')
  return { kid, alg }
}

/** The issuer that a token names, without any proof; undefined where it names none. */
export function unverifiedIssuer(token: string): string | undefined {
  try {
    const { iss } = partOf(token, 1)
    return typeof iss === 'string' ? iss : undefined
  } catch {
    return undefined
  }
}

/** One part of a token, decoded. Where it names a member twice, the last one counts (RFC 7515 §4), as it does for the engine. */
function partOf(token: string, index: 0 | 1): Record<string, unknown> {
  const start = index === 0 ? 0 : token.indexOf('.') + 1
  const text = Buffer.from(token.slice(start, token.indexOf('.', start)), 'base64url').toString()
  let part: unknown
  try {
    part = JSON.parse(text)
  } catch {
    throw invalid('not JSON')
  }
  if (typeof part !== 'object' || part === null || Array.isArray(part)) throw invalid('no object')
  // Without a prototype, so that nothing which the process has put there is read as a member.
  return Object.assign(Object.create(null), part) as Record<string, unknown>
}

/** Refuses a token. */
export function invalid(reason: string): AuthenticationError {
  return refusal('auth.jwt-invalid', { cause: reason })
}
