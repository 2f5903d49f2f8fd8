import type { FastifyRequest } from 'fastify'
import { ensureState, stateOf } from './state.js'
import type { ExtraJwtClaimsKey, JwtClaims } from '../../types/request-extra.js'

/** The key under which `request.extra` holds the claims of a valid token. */
export const EXTRA_JWT_CLAIMS: ExtraJwtClaimsKey = 'jwtClaims'

/** Stores the claims of a token in `request.extra`. */
export function setClaims(request: FastifyRequest, claims: JwtClaims): void {
  const state = ensureState(request)
  state.claims = claims
  if (state.extra !== null) state.extra[EXTRA_JWT_CLAIMS] = claims
}

/** The claims in `request.extra`, where authenticators of the app put them too. */
export function claimsOf(request: FastifyRequest): unknown {
  const { claims = null, extra = null } = stateOf(request) ?? {}
  return extra === null ? claims : extra[EXTRA_JWT_CLAIMS]
}

/** The `request.extra` of a request, created at the first call. It has no prototype. */
export function extraOf(request: FastifyRequest): Record<string, unknown> {
  const state = ensureState(request)
  if (state.extra !== null) return state.extra
  const extra = Object.create(null) as Record<string, unknown>
  if (state.claims !== null) extra[EXTRA_JWT_CLAIMS] = state.claims
  state.extra = extra
  return extra
}
