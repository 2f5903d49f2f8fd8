import type { FastifyRequest } from 'fastify'
import type { JwtClaims } from '../../types/request-extra.js'
import type { AuthUser } from '../../types/user-service.js'

/** A global symbol: `storedUser` may come from another copy of the package than the plugin. */
export const kRequestState: unique symbol = Symbol.for('fastify-authn.request-state')

/** What the plugin keeps on a request. */
export interface RequestState {
  /** `request.user`: the user without the password hash. */
  user: AuthUser | null
  /** What the user service returned. */
  stored: object | null
  claims: JwtClaims | null
  extra: Record<string, unknown> | null
  lang: string | null
}

interface Stateful {
  [kRequestState]?: RequestState
}

/** The state of a request; undefined while there is none. */
export function stateOf(request: FastifyRequest): RequestState | undefined {
  return (request as Stateful)[kRequestState]
}

/**
 * The state of a request, created when it is missing. It is one object in one property: V8 slows down objects to which
 * several properties are added later.
 */
export function ensureState(request: FastifyRequest): RequestState {
  return ((request as Stateful)[kRequestState] ??= {
    user: null,
    stored: null,
    claims: null,
    extra: null,
    lang: null,
  })
}
