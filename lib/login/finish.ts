import type { FastifyReply, FastifyRequest } from 'fastify'
import * as Type from '@sinclair/typebox/type'
import { faultOf } from '../errors.js'
import { reportSuccess } from '../events.js'
import { viewOf } from '../users/view.js'
import type { LoginAttempt, TokenCarrier } from '../feature.js'
import type { Registration } from '../registration.js'

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

/** @param body - what a carrier has returned */
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
  login: FinishedLogin,
): Promise<object> {
  const { username, user, started } = login
  const tokens = await registration.issueTokens(username, request, user, login)
  reportTokens(registration, request, user, 'login', started)
  return registration.carrier.give(request, reply, tokens)
}

interface FinishedLogin extends LoginAttempt {
  readonly username: string | number
  readonly user: object
}

/** @throws AuthenticationFault when a getter of the user throws */
export function reportTokens(
  { hiddenFields }: Registration,
  request: FastifyRequest,
  user: object,
  name: 'login' | 'refresh',
  started: number,
): void {
  try {
    reportSuccess(request, viewOf(user, hiddenFields), name, started)
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHENTICATOR', error)
  }
}
