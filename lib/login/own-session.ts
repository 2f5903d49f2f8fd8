import type { FastifyRequest } from 'fastify'
import { rejection } from '../errors/errors.js'
import { requireLevel } from '../guard/level.js'
import { localClaimsOf, storedUser } from '../request/state.js'
import type { Registration } from '../feature.js'
import type { OwnClaims } from './token.js'
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

/** @throws ERR_AUTH_FORBIDDEN without a session of the user, and where another user acts as this one */
export function requireOwnSession({ app }: Registration, request: FastifyRequest) {
  const user = storedUser<object>(request)
  const session = ownSession(app.authn.sessions, request)
  if (user === null || session === null) {
    throw rejection('auth.forbidden', { cause: 'not a session of the user' })
  }
  const { sub, amr = [] } = localClaimsOf(request) as OwnClaims & { readonly amr?: string[] }
  return { user, sub, sid: session.id, amr }
}

/**
 * For what changes the ways in: {@link requireOwnSession} of a user who has just authenticated.
 * @param mfa - whether with several factors, where the user has no second one
 * @throws ERR_AUTH_INSUFFICIENT_AUTHENTICATION
 */
export function requireFreshSession(
  registration: Registration,
  request: FastifyRequest,
  mfa = false,
) {
  const own = requireOwnSession(registration, request)
  const isOn = registration.secondFactor?.isOn(own.user) ?? false
  requireLevel(request, { mfa: mfa || isOn, fresh: recentLogin })
  return own
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
