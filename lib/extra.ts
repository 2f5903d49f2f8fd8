import type { FastifyRequest } from 'fastify'
import { kClaims, kExtra } from './symbols.js'
import type { ExtraJwtClaimsKey, JwtClaims } from '../types/request-extra.js'

/** Key of the claims of a valid token in `request.extra` (specification, "JWT" 5). */
export const EXTRA_JWT_CLAIMS: ExtraJwtClaimsKey = 'jwtClaims'

type Extra = Record<string, unknown>

interface Carrier {
  [kClaims]?: JwtClaims
  [kExtra]?: Extra
}

/** Puts the claims of a token into `request.extra`, which is made when somebody first looks at it. */
export function setClaims(request: FastifyRequest, claims: JwtClaims): void {
  const carrier = request as Carrier
  const extra = carrier[kExtra]
  if (extra === undefined) carrier[kClaims] = claims
  else extra[EXTRA_JWT_CLAIMS] = claims
}

/** What `request.extra` is: an object without prototype, one a request. */
export function extraOf(request: FastifyRequest): Extra {
  const carrier = request as Carrier
  if (carrier[kExtra] !== undefined) return carrier[kExtra]
  const extra = Object.create(null) as Extra
  if (carrier[kClaims] !== undefined) extra[EXTRA_JWT_CLAIMS] = carrier[kClaims]
  carrier[kExtra] = extra
  return extra
}
