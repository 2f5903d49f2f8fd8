import type { FastifyRequest } from 'fastify'
import { carryOn } from './carried.js'
import type { ExtraJwtClaimsKey, JwtClaims } from '../types/request-extra.js'

/** Key of the claims of a valid token in `request.extra` (specification, "JWT" 5). */
export const EXTRA_JWT_CLAIMS: ExtraJwtClaimsKey = 'jwtClaims'

/** Puts the claims of a token into `request.extra`, which is made when somebody first looks at it. */
export function setClaims(request: FastifyRequest, claims: JwtClaims): void {
  const carried = carryOn(request)
  carried.claims = claims
  if (carried.extra !== null) carried.extra[EXTRA_JWT_CLAIMS] = claims
}

/** What `request.extra` is: an object without prototype, one a request. */
export function extraOf(request: FastifyRequest): Record<string, unknown> {
  const carried = carryOn(request)
  if (carried.extra !== null) return carried.extra
  const extra = Object.create(null) as Record<string, unknown>
  if (carried.claims !== null) extra[EXTRA_JWT_CLAIMS] = carried.claims
  carried.extra = extra
  return extra
}
