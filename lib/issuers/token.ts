import { typOf } from '../common/typ.js'
import { invalidToken } from '../tokens/invalid.js'
import { unverifiedPart } from '../tokens/unverified.js'
import type { ResolvedIssuer } from '../options/resolve-issuers.js'

/** What the header of a token says about its key. */
export interface TokenHeader {
  readonly kid: string
  readonly alg: string
}

/** Compact serialization (RFC 7515 §7.1): three parts of base64url. */
const compact = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Reads the header of a token whose signature is not verified yet. It only chooses among the keys that we have: no key,
 * and no address of one, is taken from a token (RFC 8725 §3.10). Tokens of other issuers are rejected before any key is
 * asked for.
 *
 * @throws AuthenticationError
 */
export function readHeader(
  token: string,
  { issuer, rules }: Pick<ResolvedIssuer, 'issuer' | 'rules'>,
): TokenHeader {
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

/** The last token, so that several issuers of one route parse it once. */
let last: { readonly token: string; readonly iss: unknown } = { token: '', iss: undefined }

/** The claim `iss` of a token, without any proof. */
export function unverifiedIssuer(token: string): unknown {
  if (last.token !== token) last = { token, iss: unverifiedPart(token, 1)?.iss }
  return last.iss
}
