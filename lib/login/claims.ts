import type { FastifyRequest } from 'fastify'
import { faultOf } from '../errors.js'
import { isUsableName } from '../users/find.js'
import type { JwtClaims } from '../../types/request-extra.js'
import type { LoginOptions } from '../../types/login.js'

/** Claims that the plugin sets itself: with one of the app a token could not be revoked, or would expire too late. */
const reserved = ['sid', 'jti', 'iat', 'nbf', 'exp'] as const

/** The claims of a login, with the name that the user service is asked for. */
export interface OwnClaims extends Partial<JwtClaims> {
  readonly sub: string | number
}

/**
 * The claims of the app, and `sub`: the submitted username where the app sets no other.
 *
 * @throws AuthenticationFault where `login.claims` throws, or returns what cannot be the claims of a token
 */
export async function ownClaims(
  claims: LoginOptions['claims'],
  sub: string | number,
  request: FastifyRequest,
  user: object,
): Promise<OwnClaims> {
  if (claims === undefined) return { sub }
  try {
    return checked(await claims(request, user), sub)
  } catch (error) {
    throw faultOf('ERR_AUTH_TOKEN_FUNC', error)
  }
}

function checked(returned: unknown, sub: string | number): OwnClaims {
  if (returned === undefined || returned === null) return { sub }
  if (typeof returned !== 'object' || Array.isArray(returned)) {
    throw new TypeError('login.claims must return an object of claims.')
  }
  const given = { ...returned } as Record<string, unknown>
  const taken = reserved.filter((claim) => given[claim] !== undefined)
  if (taken.length > 0) {
    throw new TypeError(`login.claims returned ${taken.join(', ')}, which the plugin sets itself.`)
  }
  const own = given.sub === undefined ? sub : given.sub
  if (isUsableName(own)) return { ...given, sub: own }
  throw new TypeError(
    'login.claims returned a "sub" that is no name: expected a string without control characters, or a finite number.',
  )
}
