import { AuthenticationError, refusal } from '../errors.js'

/**
 * The rejection of a token. The keys are checked at boot, so that only the client's bytes can make the engine throw:
 * whatever its error is, the token is invalid. That error is not the cause, because some of its messages quote the
 * token.
 *
 * @param reason - the error of the engine, or a word for what our own checks found
 */
export function invalidToken(reason: unknown): AuthenticationError {
  if (typeof reason === 'string') return refusal('auth.jwt-invalid', { cause: reason })
  const code = reason instanceof Object && 'code' in reason ? String(reason.code) : 'unknown'
  return refusal('auth.jwt-invalid', { cause: code })
}
