import type { FastifyRequest } from 'fastify'
import { isAuthenticationError, refusal } from '../errors.js'
import { ownTokenIn } from '../authenticators/jwt.js'
import { isUsableName } from '../users/user.js'
import { digestOf } from './refresh-token.js'
import { invalidRefresh, requireRefreshToken, type SessionTools } from './tools.js'
import type { Registration } from '../registration.js'

/** The session that a logout revokes. */
export interface Leaving {
  readonly sid: string
  readonly sub: string
}

/**
 * The session of a request: that of its access token, or, where that one is missing or rejected, that of its refresh
 * token.
 *
 * @param refreshToken - null where there is none
 * @throws (rejects) AuthenticationError
 */
export async function leavingOf(
  tools: SessionTools,
  registration: Registration,
  request: FastifyRequest,
  refreshToken: string | null,
): Promise<Leaving> {
  try {
    return ofAccessToken(tools, registration, request)
  } catch (error) {
    if (refreshToken === null || !isAuthenticationError(error)) throw error
    const handle = digestOf(requireRefreshToken(refreshToken).handle)
    const { session } = await tools.access.ask((store) => store.find(handle))
    if (session === null) throw invalidRefresh('no such session')
    return session
  }
}

function ofAccessToken(
  { service, method, revocations }: SessionTools,
  { tokenSources }: Registration,
  request: FastifyRequest,
): Leaving {
  const token = ownTokenIn(request, tokenSources)
  if (token === null) throw refusal('auth.no-credentials-provided')
  const { sid, sub } = service.verify(token, method)
  if (typeof sid !== 'string' || !isUsableName(sid) || !isUsableName(sub)) {
    throw refusal('auth.jwt-invalid', { cause: 'claim sid' })
  }
  if (revocations.has(sid)) throw refusal('auth.jwt-invalid', { cause: 'session revoked' })
  return { sid, sub: String(sub) }
}
