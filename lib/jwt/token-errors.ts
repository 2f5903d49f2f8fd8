import { AuthenticationError, refusal } from '../errors.js'

/**
 * What the engine throws while it verifies a token, as a refusal. Only the client's bytes can make
 * the engine throw here (the keys are checked at boot), so whatever it is, the token is invalid. The
 * engine's error is not kept as the cause: some of its texts quote the token.
 *
 * @param reason - what the engine threw, or what we found ourselves
 */
export function invalidToken(reason: unknown): AuthenticationError {
  if (typeof reason === 'string') return refusal('auth.jwt-invalid', { cause: reason })
  const code = reason instanceof Object && 'code' in reason ? String(reason.code) : 'unknown'
  return refusal('auth.jwt-invalid', { cause: code })
}
