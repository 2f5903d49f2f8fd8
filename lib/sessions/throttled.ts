import type { FastifyRequest } from 'fastify'
import { isAuthenticationError } from '../errors.js'
import { digestOf, parseRefreshToken } from './refresh-token.js'
import type { Registration } from '../registration.js'
import type { RefusalCode } from '../../types/errors.js'

/** Refusals that count as failed attempts: not those of an expired access token, and of a request without a token. */
const counted: ReadonlySet<RefusalCode> = new Set([
  'ERR_AUTH_REFRESH_INVALID',
  'ERR_AUTH_REFRESH_REUSED',
  'ERR_AUTH_JWT_INVALID',
])

/**
 * Throttles the use of tokens as logins are throttled: a client whose tokens were refused too often has to wait.
 *
 * @param text - the refresh token; null where there is none
 * @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS, and what `work` throws
 */
export async function throttled<T>(
  registration: Registration,
  request: FastifyRequest,
  text: string | null,
  work: () => Promise<T>,
): Promise<T> {
  const attempt = registration.passwords.openAttempt(nameOf(request, text), null, request)
  await attempt.refuseIfThrottled(true)
  try {
    const result = await work()
    await attempt.succeeded()
    return result
  } catch (error) {
    if (isAuthenticationError(error) && counted.has(error.code)) await attempt.commitFailure()
    throw error
  }
}

/** What failures are counted by, beside the address: the session of a refresh token, or else the token as sent. */
function nameOf({ headers }: FastifyRequest, text: string | null): string {
  const token = text === null ? null : parseRefreshToken(text)
  return digestOf(token?.handle ?? text ?? headers.authorization ?? headers.cookie ?? '')
}
