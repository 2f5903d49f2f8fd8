import type { FastifyRequest } from 'fastify'
import type { JwtClaims } from '../../types/request-extra.js'
import type { AuthUser } from '../../types/user-service.js'

/** A global symbol: `storedUser` may come from another copy of the package than the plugin. */
export const kCarried: unique symbol = Symbol.for('fastify-authn.carried')

/** What the plugin keeps on a request. */
export interface Carried {
  /** `request.user`: the user without the password hash. */
  user: AuthUser | null
  /** What the user service returned. */
  stored: object | null
  claims: JwtClaims | null
  /** The same claims, once the user of the token was found. */
  proven: JwtClaims | null
  /** Whether the request was judged by a cookie. */
  isByCookie: boolean
  extra: Record<string, unknown> | null
  lang: string | null
}

interface Carrier {
  [kCarried]?: Carried
}

/** @returns what the plugin keeps on a request, or undefined while that is nothing */
export function carriedBy(request: FastifyRequest): Carried | undefined {
  return (request as Carrier)[kCarried]
}

/**
 * @returns the same, created when it is missing. It is one object in one property: V8 slows down objects to
 * which several properties are added later
 */
export function carryOn(request: FastifyRequest): Carried {
  return ((request as Carrier)[kCarried] ??= {
    user: null,
    stored: null,
    claims: null,
    proven: null,
    isByCookie: false,
    extra: null,
    lang: null,
  })
}
