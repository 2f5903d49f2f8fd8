import { isUtf8 } from 'node:buffer'
import { createSigner, createVerifier } from 'fast-jwt'
import { isCanonical } from '../http/base64.js'
import { invalidToken } from './token-errors.js'
import type { SigningMethod } from '../../types/jwt.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** Signs claims. */
export type Sign = (claims: Readonly<Record<string, unknown>>) => string

/** Verifies the signature of a token, and returns its claims unjudged and frozen. */
export type VerifySignature = (token: string) => JwtClaims

interface DecodedToken {
  readonly header: object
  readonly payload: JwtClaims
}

/** @param key - the secret, or PEM text of a private key */
export function createSign(key: string | Buffer, method: SigningMethod): Sign {
  const options = { key, algorithm: method }
  // The engine adds `iat` unless it is told not to, and then drops one of the caller's.
  const bare = createSigner({ ...options, noTimestamp: true })
  const dated = createSigner(options)
  return (claims) => (claims.iat === undefined ? bare(claims) : dated(claims))
}

/**
 * The engine, for one method and one key, and where it is more lenient than RFC 7515 and RFC 7519, what is
 * missing. Time claims are not left to it: it takes Infinity, and throws a bare RangeError for a huge nbf.
 *
 * @param key - the secret, or PEM text of a public key
 * @throws (the function) AuthenticationError for any fault of a token
 */
export function createVerifySignature(
  key: string | Buffer,
  method: SigningMethod,
): VerifySignature {
  const verify = createVerifier({
    key,
    algorithms: [method],
    cache: false,
    complete: true,
    ignoreExpiration: true,
    ignoreNotBefore: true,
  }) as (token: string) => DecodedToken

  return (token) => {
    const payloadEnd = token.lastIndexOf('.')
    if (!isCanonical(token.slice(payloadEnd + 1))) throw invalidToken('signature not canonical')
    let decoded: DecodedToken
    try {
      decoded = verify(token)
    } catch (error) {
      throw invalidToken(error)
    }
    // No extension is understood here (RFC 7515 §4.1.11); the engine lets a falsy `crit` pass.
    if ('crit' in decoded.header) throw invalidToken('crit')
    // RFC 7519 §7.2: a claims set is UTF-8; the engine replaces what is not, which then shows in a text.
    if (deepFreeze(decoded.payload) && !isUtf8(payloadOf(token, payloadEnd))) {
      throw invalidToken('payload not UTF-8')
    }
    return decoded.payload
  }
}

function payloadOf(token: string, end: number): Buffer {
  return Buffer.from(token.slice(token.indexOf('.') + 1, end), 'base64url')
}

/** What stands for bytes that are no UTF-8. */
const replacement = '\ufffd'

/**
 * One object serves all requests with the same token: what one does to it, no other may see. With a list of what
 * is left to do, since claims may be nested deeper than the stack is.
 *
 * @returns whether one of its texts or keys holds a character that may stand for bytes that are no UTF-8
 */
function deepFreeze(claims: object): boolean {
  let isDoubtful = false
  const found = [claims]
  // Goes on with what is added meanwhile.
  for (const object of found) {
    for (const key of Object.keys(object)) {
      const value = (object as Record<string, unknown>)[key]
      const isText = typeof value === 'string'
      isDoubtful ||= key.includes(replacement) || (isText && value.includes(replacement))
      if (typeof value === 'object' && value !== null) found.push(value)
    }
    Object.freeze(object)
  }
  return isDoubtful
}
