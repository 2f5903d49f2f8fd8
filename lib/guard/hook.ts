import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { faultOf } from '../errors.js'
import { runWithoutUser } from '../request/storage.js'
import { Attempt } from './attempt.js'
import type { Decision } from '../registration.js'

/**
 * The one `onRequest` hook of an app and all its scopes. What happens to a request depends on the route that Fastify
 * matched, and was decided when the app got ready; the text of the URL is never looked at.
 *
 * @param decisionOf - finds the decision for a request. When it throws, the request gets a 500
 */
export function createGuard(
  decisionOf: (request: FastifyRequest) => Decision,
): (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void {
  return function guard(request, reply, done) {
    let decision: Decision
    try {
      decision = decisionOf(request)
    } catch (error) {
      return done(faultOf('ERR_AUTH_UNGUARDED', error))
    }
    const { plan } = decision
    if (plan === null) return runWithoutUser(request, done)
    new Attempt(request, reply, done, decision.registration, plan).begin()
  }
}
