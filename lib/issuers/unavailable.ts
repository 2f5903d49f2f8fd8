import { refusal, type AuthenticationError } from '../errors.js'

/**
 * The refusal of a request whose token cannot be judged now, since its issuer gives no keys.
 *
 * @param left - milliseconds until the next attempt to get them
 */
export function unavailable(left: number): AuthenticationError {
  return refusal('auth.overloaded', {
    code: 'ERR_AUTH_ISSUER_UNAVAILABLE',
    retryAfter: Math.max(1, Math.ceil(left / 1000)),
    cause: 'no usable key set',
  })
}
