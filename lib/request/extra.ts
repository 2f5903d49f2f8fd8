import type { FastifyRequest } from 'fastify'
import { carriedBy, carryOn } from './carried.js'
import type { ExtraJwtClaimsKey, JwtClaims } from '../../types/request-extra.js'

/** The key under which `request.extra` holds the claims of a valid token. */
export const EXTRA_JWT_CLAIMS: ExtraJwtClaimsKey = 'jwtClaims'

/** Stores the claims of a token in `request.extra`. */
export function setClaims(request: FastifyRequest, claims: JwtClaims): void {
  const carried = carryOn(request)
  carried.claims = claims
  if (carried.extra !== null) carried.extra[EXTRA_JWT_CLAIMS] = claims
}

/** Notes that the user of a token was found, so that its claims say what that user may do. */
export function proveClaims(request: FastifyRequest): void {
  const carried = carryOn(request)
  carried.proven = carried.claims
}

/**
 * Takes the claims back that an authenticator has left which did not accept the request: they say nothing of the
 * user whom another one accepts.
 *
 * @returns these claims
 */
export function takeClaims(request: FastifyRequest): JwtClaims | null {
  const carried = carriedBy(request)
  if (carried === undefined) return null
  const claims = (carried.extra?.[EXTRA_JWT_CLAIMS] ?? carried.claims) as JwtClaims | null
  carried.claims = null
  carried.proven = null
  if (carried.extra !== null) delete carried.extra[EXTRA_JWT_CLAIMS]
  return claims
}

/**
 * The claims that say what the user of a request may do: those in `request.extra`, which authenticators of the app
 * put there too; but not those of a token whose user was refused.
 */
export function claimsThatCount(request: FastifyRequest): unknown {
  const { claims = null, proven = null, extra = null } = carriedBy(request) ?? {}
  const found = extra === null ? claims : extra[EXTRA_JWT_CLAIMS]
  return found === claims && claims !== proven ? null : found
}

/** @returns the `request.extra` of a request, created at the first call. It has no prototype. */
export function extraOf(request: FastifyRequest): Record<string, unknown> {
  const carried = carryOn(request)
  if (carried.extra !== null) return carried.extra
  const extra = Object.create(null) as Record<string, unknown>
  if (carried.claims !== null) extra[EXTRA_JWT_CLAIMS] = carried.claims
  carried.extra = extra
  return extra
}
