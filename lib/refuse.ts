import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { reportRefusal } from './diagnostics.js'
import { AuthenticationFault, isAuthenticationFault } from './errors.js'
import { isThenable } from './objects.js'
import { schemesOf, sendRefusal } from './unauthorized.js'
import type { Plan, Registration } from './registration.js'
import type { AuthenticationErrorLike } from '../types/errors.js'

/** A request that can be refused. */
export interface Refusable {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly done: HookHandlerDoneFunction
  readonly registration: Registration
  readonly plan: Plan
  /** See {@link startClock}. */
  readonly started: number
}

/** What failed behind the plugin, as a fault with a neutral message. */
export function faultOf(
  code: 'ERR_AUTH_AUTHENTICATOR' | 'ERR_AUTH_ON_UNAUTHORIZED',
  error: unknown,
): Error {
  return isAuthenticationFault(error) ? error : new AuthenticationFault(code, error)
}

/** The refusal of the authenticator itself where it writes one, else ours; one of them is sent. */
export function refuse(passage: Refusable, error: AuthenticationErrorLike): void {
  const { reply, request, plan, started } = passage
  const { authenticator } = plan
  reportRefusal(request, error, plan.name, started)
  if (authenticator.onUnauthorized === undefined) return send(passage, error)
  const isAnswered = watchReply(reply)
  const finish = (): void => {
    if (!isAnswered()) send(passage, error)
  }
  const giveUp = (fault: unknown): void => {
    if (isAnswered())
      request.log.error({ err: fault }, 'onUnauthorized failed after it had answered')
    else passage.done(faultOf('ERR_AUTH_ON_UNAUTHORIZED', fault))
  }
  let written: unknown
  try {
    written = authenticator.onUnauthorized(error, request, reply)
  } catch (fault) {
    return giveUp(fault)
  }
  if (written === reply || !isThenable(written)) return finish()
  Promise.resolve(written).then(finish, giveUp)
}

/** Whether a reply is on its way: `reply.sent` is not yet true while hooks work on what was sent. */
function watchReply(reply: FastifyReply): () => boolean {
  let called = false
  const { send } = reply
  reply.send = (...args) => {
    called = true
    return send.apply(reply, args)
  }
  return () => called || reply.sent || reply.raw.headersSent
}

function send(passage: Refusable, error: AuthenticationErrorLike): void {
  const { request, reply, done, registration, plan } = passage
  try {
    sendRefusal(error, request, reply, registration, schemesOf(plan.authenticator))
  } catch (fault) {
    done(faultOf('ERR_AUTH_ON_UNAUTHORIZED', fault))
  }
}
