import type { FastifyRequest } from 'fastify'
import { isAuthenticationError } from '../errors.js'
import { digestOf, parseRefreshToken } from './refresh-token.js'
import type { Registration } from '../registration.js'
import type { RefusalCode } from '../../types/errors.js'

/** Refusals that count: not those of clients that have come too late, or with nothing. */
const counted: ReadonlySet<RefusalCode> = new Set([
  'ERR_AUTH_REFRESH_INVALID',
  'ERR_AUTH_REFRESH_REUSED',
  'ERR_AUTH_JWT_INVALID',
])

/**
 * Judges a token as a login judges a password: those whose tokens were refused too often have to wait.
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
  const attempt = registration.openTokenAttempt(nameOf(request, text), request)
  await attempt.begin(true)
  try {
    const result = await work()
    await attempt.succeeded()
    return result
  } catch (error) {
    if (isAuthenticationError(error) && counted.has(error.code)) await attempt.failed()
    throw error
  }
}

/** What failures count for beside the address: a session, or one token of no session. */
function nameOf({ headers }: FastifyRequest, text: string | null): string {
  const token = text === null ? null : parseRefreshToken(text)
  return digestOf(token?.handle ?? text ?? headers.authorization ?? headers.cookie ?? '')
}
