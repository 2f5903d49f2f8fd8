import type { FastifyRequest } from 'fastify'
import { kCarried } from './symbols.js'
import type { JwtClaims } from '../types/request-extra.js'
import type { AuthUser } from '../types/user-service.js'

/** What a request carries of ours. */
export interface Carried {
  /** What the app sees of the user. */
  user: AuthUser | null
  /** What the user service returned. */
  stored: object | null
  claims: JwtClaims | null
  extra: Record<string, unknown> | null
  lang: string | null
}

interface Carrier {
  [kCarried]?: Carried
}

/** What a request carries, if anything yet. */
export function carriedBy(request: FastifyRequest): Carried | undefined {
  return (request as Carrier)[kCarried]
}

/**
 * The same, to put something into it. One object in one property: a request that is given several
 * properties after it was made is a slower one.
 */
export function carryOn(request: FastifyRequest): Carried {
  return ((request as Carrier)[kCarried] ??= {
    user: null,
    stored: null,
    claims: null,
    extra: null,
    lang: null,
  })
}
