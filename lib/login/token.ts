import * as Type from '@sinclair/typebox/type'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { faultOf } from '../errors.js'
import { isUsableName } from '../users/user.js'
import {
  issuedAfter,
  type IssuedTokens,
  type IssueTokens,
  type TokenCarrier,
  type TokenCheck,
} from '../feature.js'
import type { JwtService } from '../tokens/service.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { LoginOptions } from '../../types/login.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** Makes the token of a login: by `tokenFunc` of the app, or one whose `sub` is the submitted username. */
export function tokenIssuer(
  { login }: ResolvedOptions,
  service: JwtService,
  tokenChecks: readonly TokenCheck[],
): IssueTokens {
  const { tokenFunc, claims, signingMethod }: LoginOptions = login || {}
  return async (username, request, user) => {
    try {
      if (tokenFunc !== undefined) {
        return { token: checkToken(await tokenFunc(request, user, service)) }
      }
      const own = await ownClaims(claims, username, request, user)
      const iat =
        tokenChecks.length === 0 ? {} : { iat: issuedAt(Date.now() / 1000, user, tokenChecks) }
      return { token: service.generateTokenWithClaims({ ...own, ...iat }, signingMethod) }
    } catch (error) {
      throw faultOf('ERR_AUTH_TOKEN_FUNC', error)
    }
  }
}

function checkToken(token: unknown): string {
  if (typeof token === 'string' && token !== '') return token
  const found = token === '' ? 'an empty string' : typeof token
  throw new TypeError(`tokenFunc returned ${found}, expected a token.`)
}

/**
 * The claim `iat` of a token that is issued now. It is rounded up where all tokens of the user have just been revoked,
 * so that this one is newer.
 *
 * @param now - seconds since 1970
 */
export function issuedAt(now: number, user: object, checks: readonly TokenCheck[]): number {
  return Math.max(Math.floor(now), Math.ceil(issuedAfter(checks, user)))
}

/** Claims that only the plugin sets, so that tokens can be revoked and expire in time. */
const reserved = ['sid', 'jti', 'iat', 'nbf', 'exp'] as const

export interface OwnClaims extends Partial<JwtClaims> {
  readonly sub: string | number
}

/**
 * The claims of the app, and `sub`, which the app may set too.
 *
 * @param sub - the submitted username
 * @throws AuthenticationFault where `login.claims` throws, or returns invalid claims
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

/** Tokens in the JSON body. */
export const bodyCarrier: TokenCarrier = {
  forbidden: null,
  schema: Type.Object(
    {
      token: Type.String(),
      refreshToken: Type.Optional(Type.String()),
      expiresIn: Type.Optional(Type.Integer()),
    },
    // Written as code: Markdown would take <token> for an HTML tag and not show it.
    { description: 'A token, for the header `Authorization: Bearer <token>`.' },
  ),
  refuse: () => null,
  refreshToken: () => null,
  give: (_request, _reply, { token, refreshToken, expiresIn }) =>
    refreshToken === undefined ? { token } : { token, refreshToken, expiresIn },
  clear: () => undefined,
}

export function sendTokens(
  carrier: TokenCarrier,
  request: FastifyRequest,
  reply: FastifyReply,
  tokens: IssuedTokens,
): FastifyReply {
  const body = JSON.stringify(carrier.give(request, reply, tokens))
  // Sent as a string, so that no response schema or serializer of the app changes or rejects it.
  return reply.header('content-type', 'application/json; charset=utf-8').send(body)
}
