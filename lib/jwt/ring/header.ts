import { invalidToken } from '../token-errors.js'
import { unverifiedPart } from '../unverified.js'

/** What the header of a token says of its key. Nothing else of a header is looked at to find a key. */
export interface KeyName {
  readonly alg: unknown
  /** Undefined for a header without the member. */
  readonly kid: string | undefined
}

/**
 * Reads the header of a token whose signature is not verified yet. Members that bring a key or its address along
 * (`jwk`, `jku`, `x5c`, `x5u`) are not read: who signs would choose the key.
 *
 * @param encoded - the first part of the token
 * @throws AuthenticationError for a header that is none, and for a `kid` that is no name (RFC 7515 §4.1.4)
 */
export function keyNameOf(encoded: string): KeyName {
  const header = unverifiedPart(encoded, 0)
  if (header === null) throw invalidToken('header')
  const { alg, kid } = header
  if (!Object.hasOwn(header, 'kid')) return { alg, kid: undefined }
  if (typeof kid !== 'string' || kid === '') throw invalidToken('kid')
  return { alg, kid }
}
