import { AuthenticationError, refusal } from '../errors.js'

/**
 * The rejection of a token. Keys are checked at boot, so that whatever the engine throws is about the client's bytes.
 * Its error is not the cause, because some of its messages quote the token.
 *
 * @param reason - the error of the engine, or a word for what our own checks found
 */
export function invalidToken(reason: unknown): AuthenticationError {
  if (typeof reason === 'string') return refusal('auth.jwt-invalid', { cause: reason })
  const code = reason instanceof Object && 'code' in reason ? String(reason.code) : 'unknown'
  return refusal('auth.jwt-invalid', { cause: code })
}
