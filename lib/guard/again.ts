import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { forgetUser, stateOf } from '../request/state.js'

/** How long a request may wait for its body, in milliseconds, before it is authenticated again. */
const patience = 2000

/** Whether a request may have a body. A GET has one only where the app allows it, by `addHttpMethod()`. */
export function mayHaveBody({ method, headers }: FastifyRequest['raw']): boolean {
  if (method !== 'GET') return method !== 'HEAD'
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined
}

/**
 * The last `preValidation` hook of the routes that may get a body. A client may hold it back for longer than its token, its
 * session or its password is valid: `requestTimeout` of Fastify is 0 by default. Plugins for uploads read it in `preValidation`.
 * Whether the session was revoked meanwhile is known in memory, and looked up after each body.
 */
export function guardAgain(
  request: FastifyRequest,
  _: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  const again = stateOf(request)?.again ?? null
  if (again === null) return done()
  if (performance.now() - again.since < patience && !again.isRevoked()) return done()
  forgetUser(request)
  again.beginAgain(done)
}
