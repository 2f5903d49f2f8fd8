import { typOf } from '../common/typ.js'
import { invalidToken } from '../tokens/invalid.js'
import { unverifiedPart } from '../tokens/unverified.js'
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
  if (!compact.test(token)) throw invalidToken('no token')
  const header = unverifiedPart(token, 0)
  if (header === null) throw invalidToken('header')
  const { kid, alg } = header
  if (unverifiedIssuer(token) !== issuer) throw invalidToken('claim iss')
  if (!rules.typ.has(typOf(header))) throw invalidToken('typ')
  if (typeof kid !== 'string') throw invalidToken('kid missing')
  if (typeof alg !== 'string') throw invalidToken('alg')
  return { kid, alg }
}

/** The issuer that a token names, without any proof; undefined where it names none. */
export function unverifiedIssuer(token: string): string | undefined {
  const { iss } = unverifiedPart(token, 1) ?? {}
  return typeof iss === 'string' ? iss : undefined
}
