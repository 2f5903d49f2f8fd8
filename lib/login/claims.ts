import type { FastifyRequest } from 'fastify'
import { faultOf } from '../errors.js'
import { isThenable } from '../common/objects.js'
import { isUsableName } from '../users/find.js'
import type { JwtClaims } from '../../types/request-extra.js'
import type { LoginOptions } from '../../types/login.js'

/** Claims that the plugin sets itself: with one of the app a token could not be ended, or would end too late. */
const ours = ['sid', 'jti', 'iat', 'nbf', 'exp'] as const

/** The claims of a login, with the name that the user service is asked for. */
export interface OwnClaims extends Partial<JwtClaims> {
  readonly sub: string | number
}

/**
 * The claims of the app, and `sub`: the submitted username where the app says nothing else.
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
    const returned = claims(request, user)
    return checked(isThenable(returned) ? await returned : returned, sub)
  } catch (error) {
    throw faultOf('ERR_AUTH_TOKEN_FUNC', error)
  }
}

function checked(returned: unknown, sub: string | number): OwnClaims {
  if (returned === undefined || returned === null) return { sub }
  if (typeof returned !== 'object' || Array.isArray(returned)) {
    throw new TypeError(`login.claims returned ${nameOf(returned)}, expected an object of claims.`)
  }
  const given = { ...returned } as Record<string, unknown>
  const taken = ours.filter((claim) => given[claim] !== undefined)
  if (taken.length > 0) {
    throw new TypeError(`login.claims returned ${taken.join(', ')}, which the plugin sets itself.`)
  }
  const own = given.sub === undefined ? sub : given.sub
  if (isUsableName(own)) return { ...given, sub: own }
  throw new TypeError(
    `login.claims returned ${nameOf(own)} as "sub", expected a name: a text without control characters, or a finite number.`,
  )
}

function nameOf(value: unknown): string {
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}
