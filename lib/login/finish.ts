import type { FastifyReply, FastifyRequest } from 'fastify'
import * as Type from '@sinclair/typebox/type'
import { isPlain, isThenable } from '../common/objects.js'
import { faultOf } from '../errors/errors.js'
import { reportSuccess } from '../events.js'
import { viewOf } from '../users/view.js'
import type { Registration } from '../registration.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'

/** The tokens of a login or of a refresh. Times are in seconds. */
export interface IssuedTokens {
  readonly token: string
  /** Default: taken from the `exp` of the token. */
  readonly expiresIn?: number | undefined
  readonly refreshToken?: string | undefined
  /** Until the refresh token expires if it is not used. */
  readonly refreshExpiresIn?: number | undefined
}

/** A login that was not finished when something may have changed. */
export interface LoginAttempt {
  /** When it began, before the user was read, by the clock of `performance.now()`. */
  readonly started: number
  /**
   * To be called when the tokens are made and stored, so that whatever changes later finds them.
   *
   * @throws (rejects) ERR_AUTH_INVALID_CREDENTIALS where the password was changed, the user was deleted, or all tokens
   * of the user were revoked since the attempt began
   */
  confirm(): Promise<void>
}

/** Makes the tokens of a user who has logged in. It rejects with an AuthenticationFault or an AuthenticationError. */
export type IssueTokens = (
  username: string | number,
  request: FastifyRequest,
  user: object,
  attempt: LoginAttempt,
) => Promise<IssuedTokens>

/** How tokens travel between the plugin's own routes and a client. */
export interface TokenCarrier {
  /** For API documents: the JSON Schema of the body of {@link give}, with or without the tokens of a session. */
  schema(hasSessions: boolean): Type.TSchema
  /** For API documents: why {@link refuse} rejects requests; null where it never does. */
  readonly forbidden: string | null
  /**
   * Checks a request to one of the plugin's own routes, or with Basic credentials. @returns the error where it has to be
   * rejected
   */
  refuse(request: FastifyRequest): AuthenticationErrorLike | null
  /**
   * The refresh token that a request carries outside of its body; null where there is none. @throws AuthenticationError
   */
  refreshToken(request: FastifyRequest): string | null
  /** Puts tokens into a reply. @returns the body */
  give(request: FastifyRequest, reply: FastifyReply, tokens: IssuedTokens): object
  /** Makes the client delete its tokens. */
  clear(request: FastifyRequest, reply: FastifyReply): void
}

/** Tokens in the JSON body. */
export const bodyCarrier: TokenCarrier = {
  forbidden: null,
  schema: (hasSessions) =>
    Type.Object(
      {
        token: Type.String(),
        ...(hasSessions && { refreshToken: Type.String(), expiresIn: Type.Integer() }),
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

export function sendBody(reply: FastifyReply, body: object): FastifyReply {
  // Sent as a string, so that no response schema or serializer of the app changes or rejects it.
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body))
}

/**
 * Makes the tokens of a user who has logged in, by whichever way, and puts them into the reply.
 *
 * @returns the body
 * @throws (rejects) what `issueTokens` throws; AuthenticationFault
 */
export async function finishLogin(
  registration: Registration,
  request: FastifyRequest,
  reply: FastifyReply,
  login: LoginAttempt & { readonly username: string | number; readonly user: object },
): Promise<object> {
  const { username, user, started } = login
  const report = tokensReport(registration, user)
  const tokens = await registration.issueTokens(username, request, user, login)
  report(request, 'login', started)
  return giveTokens(registration, registration.carrier, request, reply, tokens)
}

/**
 * Puts tokens into a reply.
 *
 * @returns the body: that of the carrier, or what `login.body` makes of it
 * @throws AuthenticationFault where `login.body` fails
 */
export function giveTokens(
  { options: { login } }: Registration,
  carrier: TokenCarrier,
  ...given: Parameters<TokenCarrier['give']>
): object {
  const body = carrier.give(...given)
  if (login === false || login.body === undefined) return body
  try {
    const own: unknown = login.body(body)
    // A rejection that nothing handles would end the process.
    if (isThenable(own)) Promise.resolve(own).catch(() => undefined)
    if (isPlain(own) && JSON.stringify(own) !== undefined) return own
    throw new TypeError('login.body: expected a plain object, not a promise.')
  } catch (error) {
    throw faultOf('ERR_AUTH_TOKEN_FUNC', error)
  }
}

/** @returns a function that reports a login or a refresh. @throws AuthenticationFault when a getter of the user throws */
export function tokensReport({ hiddenFields }: Registration, user: object) {
  try {
    const view = viewOf(user, hiddenFields)
    return (request: FastifyRequest, name: 'login' | 'refresh', started: number): void =>
      reportSuccess(request, view, name, started)
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHENTICATOR', error)
  }
}
