import type { FastifyRequest } from 'fastify'
import { rejection } from '../errors/errors.js'
import { requireLevel } from '../guard/level.js'
import { localClaimsOf } from '../request/state.js'
import type { Authentication } from '../tokens/issued.js'
import type { Authn } from '../../types/authn.js'
import type { JwtClaims } from '../../types/request-extra.js'

type Sessions = Authn['sessions']

/** Seconds for which a login proves that the user is there. */
const recentLogin = 600

/** The session of a request; null also where another user acts as its user (RFC 8693 §4.1). */
export function ownSession(sessions: Sessions, request: FastifyRequest) {
  const session = sessions.of(request)
  // A request with a session has a token of this app, and so its claims.
  const isOwn = session !== null && !Object.hasOwn(localClaimsOf(request) as object, 'act')
  return isOwn ? session : null
}

/** The authentication of a session, for one that takes its place and proves nothing new. */
export function levelOf(request: FastifyRequest): Authentication {
  const { auth_time: time, amr } = localClaimsOf(request) as JwtClaims & {
    readonly auth_time?: number
    readonly amr?: readonly string[]
  }
  return { time, amr, isRenewed: true }
}

/** @throws ERR_AUTH_LOGIN_AGAIN where the user has not authenticated for ten minutes */
export function requireRecentLogin(request: FastifyRequest): void {
  try {
    requireLevel(request, { fresh: recentLogin })
  } catch (error) {
    throw rejection('auth.login-again', { cause: (error as Error).cause })
  }
}
