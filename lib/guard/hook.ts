import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { faultOf } from '../errors.js'
import { runWithoutUser } from '../request/storage.js'
import { Attempt } from './attempt.js'
import type { Plan } from '../marks/plan.js'

/**
 * The one `onRequest` hook of an app and all its scopes. What happens to a request depends on the route that Fastify
 * matched, and was decided when the app got ready; the text of the URL is never looked at.
 *
 * @param planOf - finds the plan of a request, null for an open route. When it throws, the request gets a 500
 */
export function createGuard(
  planOf: (request: FastifyRequest) => Plan | null,
): (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void {
  return function guard(request, reply, done) {
    let plan: Plan | null
    try {
      plan = planOf(request)
    } catch (error) {
      return done(faultOf('ERR_AUTH_UNGUARDED', error))
    }
    if (plan === null) return runWithoutUser(request, done)
    new Attempt(request, reply, done, plan).begin()
  }
}
