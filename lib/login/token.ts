import type { FastifyRequest } from 'fastify'
import { faultOf, wrongOption } from '../errors.js'
import { ownClaims, type OwnClaims } from './claims.js'
import type { Registration } from '../registration.js'
import type { ValidAfter } from '../users/valid-after.js'
import type { JwtServiceLike } from '../../types/jwt.js'
import type { LoginOptions, TokenFunc } from '../../types/login.js'

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
  { jwtService, validAfter }: Pick<Registration, 'jwtService' | 'validAfter'>,
): MakeToken {
  // Null only beside a tokenFunc that signs in its own way.
  const service = (jwtService ?? undefined) as JwtServiceLike
  if (tokenFunc !== undefined) {
    if (jwtService === null && tokenFunc.length > 2) {
      wrongOption(
        'option "login.tokenFunc": it takes a third argument, jwtService, and there is none. Set "jwt" or "jwtService", or sign without it.',
      )
    }
    return (_, request, user) => tokenFunc(request, user, service)
  }
  service.require(signingMethod, 'sign', 'login')
  const sign = (own: OwnClaims, user: object): string => {
    const iat = validAfter === null ? {} : { iat: issuedAt(Date.now() / 1000, user, validAfter) }
    return service.generateTokenWithClaims({ ...own, ...iat }, signingMethod)
  }
  if (claims === undefined) return (username, _, user) => sign({ sub: username }, user)
  return async (username, request, user) =>
    sign(await ownClaims(claims, username, request, user), user)
}

/**
 * The claim `iat` of a token that is issued now. Rounded up where the user has just had all tokens taken back: rounded
 * down, it would be one of those.
 *
 * @param now - seconds since 1970
 */
export function issuedAt(now: number, user: object, validAfter: ValidAfter | null): number {
  return Math.max(Math.floor(now), Math.ceil(validAfter?.of(user) ?? 0))
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
