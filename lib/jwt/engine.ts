import { isUtf8 } from 'node:buffer'
import { createSigner, createVerifier } from 'fast-jwt'
import { invalidToken } from './token-errors.js'
import type { SigningMethod } from '../../types/jwt.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** Signs claims. */
export type Sign = (claims: Readonly<Record<string, unknown>>) => string

/** Verifies the signature of a token, and returns its claims unjudged. */
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
    const [headerEnd, payloadEnd] = [token.indexOf('.'), token.lastIndexOf('.')]
    if (!isCanonical(token.slice(payloadEnd + 1))) throw invalidToken('signature not canonical')
    let decoded: DecodedToken
    try {
      decoded = verify(token)
    } catch (error) {
      throw invalidToken(error)
    }
    // No extension is understood here (RFC 7515 §4.1.11); the engine lets a falsy `crit` pass.
    if ('crit' in decoded.header) throw invalidToken('crit')
    // RFC 7519 §7.2: a claims set is UTF-8; the engine replaces what is not.
    const payload = Buffer.from(token.slice(headerEnd + 1, payloadEnd), 'base64url')
    if (!isUtf8(payload)) throw invalidToken('payload not UTF-8')
    return decoded.payload
  }
}

const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** Unused bits after the last byte must be zero (RFC 4648 §3.5), or one token would have several texts. */
function isCanonical(segment: string): boolean {
  const rest = segment.length % 4
  if (rest === 0) return true
  const last = base64url.indexOf(segment.charAt(segment.length - 1))
  return rest !== 1 && (last & (rest === 2 ? 0b1111 : 0b11)) === 0
}
