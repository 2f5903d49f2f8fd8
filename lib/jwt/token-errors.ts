import { AuthenticationError, refusal } from '../errors.js'

/**
 * Makes a refusal of what the engine throws while it verifies a token. The keys are checked at boot, so only the
 * client's bytes can make it throw: whatever the error is, the token is invalid. The engine's error is not kept
 * as the cause, because some of its messages quote the token.
 *
 * @param reason - the error of the engine, or a word for what our own checks found
 */
export function invalidToken(reason: unknown): AuthenticationError {
  if (typeof reason === 'string') return refusal('auth.jwt-invalid', { cause: reason })
  const code = reason instanceof Object && 'code' in reason ? String(reason.code) : 'unknown'
  return refusal('auth.jwt-invalid', { cause: code })
}
