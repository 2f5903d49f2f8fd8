import type { FastifyRequest } from 'fastify'
import { AuthnUsageError, faultOf } from '../errors.js'
import { ownClaims } from './claims.js'
import type { JwtServiceLike } from '../../types/jwt.js'
import type { LoginOptions, TokenFunc } from '../../types/options.js'

/** Makes the token that a login answers with. */
export type MakeToken = (
  username: string,
  request: FastifyRequest,
  user: object,
) => ReturnType<TokenFunc>

/**
 * The function of the app, or tokens whose `sub` is the submitted username.
 *
 * @throws ERR_AUTH_OPTION, ERR_AUTH_KEY
 */
export function tokenMaker(
  { tokenFunc, claims, signingMethod }: LoginOptions,
  jwtService: JwtServiceLike | null,
): MakeToken {
  // Null only beside a tokenFunc that signs in its own way.
  const service = (jwtService ?? undefined) as JwtServiceLike
  if (tokenFunc !== undefined) {
    if (jwtService === null && tokenFunc.length > 2) {
      throw new AuthnUsageError(
        'ERR_AUTH_OPTION',
        'option "login.tokenFunc": it takes a third argument, jwtService, and there is none. Set "jwt" or "jwtService", or sign without it.',
      )
    }
    return (_, request, user) => tokenFunc(request, user, service)
  }
  service.require(signingMethod, 'sign', 'login')
  if (claims === undefined) {
    return (username) => service.generateTokenWithClaims({ sub: username }, signingMethod)
  }
  return async (username, request, user) =>
    service.generateTokenWithClaims(await ownClaims(claims, username, request, user), signingMethod)
}

/**
 * The token of a login.
 *
 * @throws AuthenticationFault when none comes out
 */
export async function issue(
  makeToken: MakeToken,
  username: string,
  request: FastifyRequest,
  user: object,
): Promise<string> {
  let token: unknown
  try {
    token = await makeToken(username, request, user)
  } catch (error) {
    throw faultOf('ERR_AUTH_TOKEN_FUNC', error)
  }
  if (typeof token === 'string' && token !== '') return token
  throw faultOf(
    'ERR_AUTH_TOKEN_FUNC',
    new TypeError(
      `tokenFunc returned ${token === '' ? 'an empty string' : typeof token}, expected a token.`,
    ),
  )
}
