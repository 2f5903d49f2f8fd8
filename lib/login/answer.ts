import type { FastifyReply, FastifyRequest } from 'fastify'
import { faultOf, isAuthenticationError } from '../errors.js'
import { reportRefusal, reportSuccess, startClock } from '../events.js'
import { sendRefusal, setChallenges, wordsOf } from '../guard/response.js'
import { ABANDONED } from '../http/disconnect.js'
import { viewOf } from '../users/view.js'
import type { GivenTokens, Registration } from '../registration.js'

/** A handler of Fastify. */
export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** What one of the plugin's own routes does with a request. Refusals are thrown. */
export type Work = (
  request: FastifyRequest,
  reply: FastifyReply,
  started: number,
) => Promise<FastifyReply>

/**
 * A handler for one of the plugin's own routes, which answers refusals as the guard does.
 *
 * @param name - of the route, for events and the log
 * @param judgesHeader - whether it looks at the header `Authorization`
 */
export function answering(
  registration: Registration,
  name: 'login' | 'refresh' | 'logout',
  judgesHeader: boolean,
  work: Work,
): Handler {
  return async (request, reply) => {
    const started = startClock()
    try {
      return await work(request, reply, started)
    } catch (error) {
      if (error === ABANDONED) return reply.hijack()
      if (!isAuthenticationError(error)) throw error
      reportRefusal(request, error, name, started)
      setChallenges(error, request, reply, registration, ['Bearer'], judgesHeader)
      sendRefusal(error, wordsOf(error, request, registration), reply)
      return reply
    }
  }
}

/**
 * Sends tokens: as cookies where the app asks for that, otherwise in the body.
 *
 * @param inBody - whether this client keeps its tokens itself, also where others get cookies
 */
export function sendTokens(
  { cookies }: Registration,
  request: FastifyRequest,
  reply: FastifyReply,
  tokens: GivenTokens,
  inBody = cookies === null,
): FastifyReply {
  const body = inBody ? bodyOf(tokens) : cookies?.give(request, reply, tokens)
  // Sent as text: a response schema or serializer of the app must neither drop nor refuse it.
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body))
}

function bodyOf({ token, refreshToken, expiresIn }: GivenTokens): object {
  return refreshToken === undefined ? { token } : { token, refreshToken, expiresIn }
}

/**
 * Reports who got tokens.
 *
 * @throws AuthenticationFault when a getter of the user throws
 */
export function reportEntry(
  { hiddenFields }: Registration,
  request: FastifyRequest,
  user: object,
  name: 'login' | 'refresh',
  started: number,
): void {
  let shown: object
  try {
    shown = viewOf(user, hiddenFields)
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHENTICATOR', error)
  }
  reportSuccess(request, shown, name, started)
}
