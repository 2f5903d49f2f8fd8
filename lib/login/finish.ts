import type { FastifyReply, FastifyRequest } from 'fastify'
import * as Type from '@sinclair/typebox/type'
import { toJson } from '../common/objects.js'
import { faultOf, rejection } from '../errors/errors.js'
import { reportSuccess } from '../events.js'
import { findUserOf, refused } from '../users/user.js'
import { viewOf } from '../users/view.js'
import type { Registration } from '../feature.js'
import type { FinishedLogin, TokenCarrier } from '../tokens/issued.js'

export const bodyCarrier: TokenCarrier = {
  schema: (hasSessions) =>
    Type.Object(
      {
        token: Type.String(),
        ...(hasSessions && { refreshToken: Type.String(), expiresIn: Type.Integer() }),
      },
      // The header is written as code: Markdown would take <token> for an HTML tag and not show it.
      { description: 'A token, for the header `Authorization: Bearer <token>`.' },
    ),
  refreshToken: () => null,
  send: (_request, _reply, { token, refreshToken, expiresIn }) =>
    refreshToken === undefined ? { token } : { token, refreshToken, expiresIn },
  clear: () => undefined,
}

export function sendBody(reply: FastifyReply, body: object): FastifyReply {
  // The body is sent as a string, so that no response schema or serializer of the app changes or rejects it.
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body))
}

/**
 * Ends each login, whichever way the user took: asks for a second factor, or else puts the tokens into the reply.
 * @param about - more members of the event `login`
 * @param give - makes the body of the tokens
 * @param event - what is reported
 * @returns the body @throws (rejects) AuthenticationFault, AuthenticationError
 */
export async function finishLogin(
  registration: Registration,
  request: FastifyRequest,
  reply: FastifyReply,
  login: FinishedLogin,
  about: object = {},
  give = giveTokens,
  event: 'login' | 'confirm' = 'login',
): Promise<object> {
  const { username, user, started, authentication } = login
  const refusal = refused.get(user)
  if (refusal !== undefined) throw rejection(refusal)
  const { amr, isRenewed = false } = authentication
  const { secondFactor } = registration
  const isLess = secondFactor !== undefined && !amr?.includes('mfa')
  const isOn = isLess && secondFactor.isOn(user)
  if (isOn && !isRenewed) {
    const asked = await secondFactor.ask(request, reply, user, login)
    if (asked !== null) return asked
  }
  const report = tokensReport(registration, user)
  const canChange = isLess && !(isOn && isRenewed)
  const attempt = canChange
    ? { ...login, confirm: askAgain(registration, request, reply, login) }
    : login
  const tokens = await registration.issueTokens(username, request, user, attempt, registration)
  const body = give(registration, registration.carrier, request, reply, tokens)
  report(request, event, started, { ...about, ...(amr && { amr }) })
  return body
}

/**
 * Confirms a login that needed no second factor, as on a remembered device. Enabling one revokes sessions that began with
 * less, and would miss one that is stored only then.
 */
function askAgain(
  { options, secondFactor }: Registration,
  request: FastifyRequest,
  reply: FastifyReply,
  login: FinishedLogin,
) {
  return async (): Promise<void> => {
    await login.confirm?.()
    const user = await findUserOf(options, login.username, request)
    if (user !== null && !secondFactor?.isOn(user)) return
    const wasOn = user !== null && secondFactor?.isOn(login.user)
    if (wasOn && (await secondFactor?.ask(request, reply, user, login)) === null) return
    throw rejection('auth.invalid-credentials', { cause: 'the user has changed meanwhile' })
  }
}

/** @returns the carrier's body, or what `login.body` makes of it. @throws AuthenticationFault if that fails */
export function giveTokens(
  { options: { login } }: Registration,
  carrier: TokenCarrier,
  ...given: Parameters<TokenCarrier['send']>
): object {
  const body = carrier.send(...given)
  if (login === false || login.body === undefined) return body
  try {
    const own: object = login.body(body)
    toJson(own, 'login.body')
    return own
  } catch (error) {
    throw faultOf('ERR_AUTH_TOKEN_FUNC', error)
  }
}

/** @returns a function that reports what gave tokens to a user. @throws AuthenticationFault when a getter of the user throws */
export function tokensReport(registration: Registration, user: object) {
  try {
    const view = viewOf(user, registration.hiddenFields)
    return (
      request: FastifyRequest,
      name: 'login' | 'refresh' | 'confirm',
      started: number,
      about?: object,
    ): void => reportSuccess(request, view, name, started, about, { registration })
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHENTICATOR', error)
  }
}
