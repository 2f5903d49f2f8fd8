import type { FastifyRequest } from 'fastify'
import { isAuthenticationError, rejection } from '../errors/errors.js'
import { localTokenIn } from '../authenticators/jwt.js'
import { isUsableName, requireUser } from '../users/user.js'
import { swapRefreshToken, ownerOf, presentedSession } from './refresh.js'
import { reportRevoked, type Replaced } from './issue.js'
import { isOwnSession, revokeSessions, type SessionTools } from './tools.js'
import type { Registration } from '../feature.js'
import type { TokenSource } from '../tokens/issued.js'
import type { StoredSession } from '../../types/sessions.js'

/** The session of the access token or, where that is missing or rejected, of the refresh token, which is used up. */
export async function leavingOf(
  tools: SessionTools,
  sources: readonly TokenSource[],
  request: FastifyRequest,
  refreshToken: string | null,
): Promise<Pick<StoredSession, 'sid' | 'sub'>> {
  try {
    return await ofAccessToken(tools, localTokenIn(request, sources), request)
  } catch (error) {
    if (refreshToken === null || !isAuthenticationError(error)) throw error
    const presented = await presentedSession(tools, request, refreshToken)
    // The user is found only for checks, so that a logout without them works without the user service.
    if (tools.tokenChecks.length > 0) await ownerOf(tools, request, presented.session)
    return (await swapRefreshToken(tools, request, presented, 'logout')).session
  }
}

const isNoToken = /^ERR_AUTH_(?:MALFORMED_|REFRESH_|TOO_MANY_)/

/** A bad refresh token, or one of too many, must not keep a user with the right password out. */
const unlessNoToken = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (isAuthenticationError(error) && isNoToken.test(error.code)) return null
    throw error
  })

/** Finds the session whose refresh token a browser still has. */
export async function findReplaced(
  tools: SessionTools,
  request: FastifyRequest,
  { carrier }: Registration,
): Promise<Replaced | null> {
  const find = async (): Promise<Replaced | null> => {
    const token = carrier.refreshToken(request)
    if (token === null) return null
    const presented = await presentedSession(tools, request, token)
    return {
      session: presented.session,
      async revoke() {
        const swapped = await unlessNoToken(swapRefreshToken(tools, request, presented, 'login'))
        if (swapped === null) return false
        const { sid, sub } = swapped.session
        await revokeSessions(tools, { sid })
        reportRevoked(tools, request, sid, sub)
        return true
      },
    }
  }
  return unlessNoToken(find())
}

async function ofAccessToken(
  tools: SessionTools,
  token: string | null,
  request: FastifyRequest,
): Promise<Pick<StoredSession, 'sid' | 'sub'>> {
  if (token === null) throw rejection('auth.no-credentials-provided')
  const { service, method, revocations, tokenChecks } = tools
  const claims = service.verify(token, method)
  const { sid, sub } = claims
  const isOurs = typeof sid === 'string' && isUsableName(sid) && isOwnSession(tools, sid)
  if (!isOurs || !isUsableName(sub)) throw rejection('auth.jwt-invalid', { cause: 'claim sid' })
  if (revocations.has(sid)) throw rejection('auth.logged-out', { cause: 'session revoked' })
  if (tokenChecks.length > 0) {
    const user = requireUser(await tools.find(sub, request))
    for (const check of tokenChecks) check.user?.(user, claims)
  }
  return { sid, sub: String(sub) }
}
