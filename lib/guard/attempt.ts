import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { isError, isThenable } from '../common/objects.js'
import { refusalOf } from '../common/refusals.js'
import { faultOf, isAuthenticationError, refusal } from '../errors.js'
import { reportSuccess, startClock } from '../events.js'
import { hasSeveral } from '../http/authorization.js'
import { ABANDONED } from '../http/disconnect.js'
import type { Plan } from '../marks/plan.js'
import type { Registration } from '../registration.js'
import { runWithoutUser, runWithUser } from '../request/storage.js'
import { setUser } from '../request/decorators.js'
import { viewOf } from '../users/view.js'
import type { AuthUser } from '../../types/user-service.js'
import { requireAccess } from './access.js'
import { afterLateCors } from './late-cors.js'
import { refuse } from './refuse.js'

/** One request on its way through the guard: it passes, is refused, or ends with a fault. */
export class Attempt {
  /** See {@link startClock}. */
  readonly started = startClock()
  /** Whom an authenticator has accepted, if it got so far. */
  user: AuthUser | null = null

  constructor(
    readonly request: FastifyRequest,
    readonly reply: FastifyReply,
    readonly done: HookHandlerDoneFunction,
    readonly registration: Registration,
    readonly plan: Plan,
  ) {}

  /** Asks the authenticator. Its answer is awaited only when it is a promise. */
  begin(): void {
    const { request, plan } = this
    // The requests that @fastify/websocket injects have no rawHeaders.
    const { rawHeaders } = request.raw as { rawHeaders?: string[] }
    if (rawHeaders !== undefined && hasSeveral(rawHeaders)) return this.fail(malformed())
    let outcome: unknown
    try {
      outcome = plan.authenticator.authenticate(request)
      // A thenable of the app may settle twice; a promise does not.
      if (isThenable(outcome)) outcome = Promise.resolve(outcome)
    } catch (error) {
      return this.fail(error)
    }
    if (!(outcome instanceof Promise)) return this.judge(outcome)
    outcome.then(
      (user) => this.judge(user),
      (error: unknown) => this.fail(error),
    )
  }

  /** An object is a user. Null means that there are no credentials. Any other value is refused. */
  judge(outcome: unknown): void {
    if (outcome === null) {
      return this.plan.nobodyPasses
        ? runWithoutUser(this.request, this.done)
        : this.fail(refusal('auth.no-credentials-provided'))
    }
    // An error that is returned counts as if it had been thrown.
    if (isError(outcome)) return this.fail(outcome)
    if (typeof outcome === 'object' && !Array.isArray(outcome)) return this.pass(outcome)
    this.request.log.warn(
      { returned: Array.isArray(outcome) ? 'array' : typeof outcome },
      'An authenticator returned neither a user nor null; the request is refused',
    )
    this.fail(refusal('auth.invalid-credentials'))
  }

  /** @param stored - the user as the authenticator returned it */
  pass(stored: object): void {
    const { request, done, registration, plan } = this
    let user: AuthUser
    try {
      user = viewOf(stored, registration.hiddenFields)
    } catch (error) {
      return done(faultOf('ERR_AUTH_AUTHENTICATOR', error))
    }
    setUser(request, user, stored)
    registration.cookies?.keepPrivate(request, this.reply)
    this.user = user
    if (plan.needs === null) this.enter(user)
    else requireAccess(this, plan.needs, user)
  }

  /** The end of a request that passes. */
  enter(user: AuthUser): void {
    reportSuccess(this.request, user, this.plan.name, this.started)
    runWithUser(this.request, user, this.done)
  }

  /** @param error - what `authenticate`, or a function of `access`, threw or rejected with */
  fail(error: unknown): void {
    const { request, done, plan } = this
    // The client has gone away: there is nobody to answer, and the handler must not run.
    if (error === ABANDONED) return
    if (!isAuthenticationError(error)) {
      return this.end(() => done(faultOf('ERR_AUTH_AUTHENTICATOR', error)))
    }
    const isForgiven =
      error.code === 'ERR_AUTH_NO_CREDENTIALS' ? plan.nobodyPasses : plan.mode === 'try'
    if (isForgiven && refusalOf(error.code)?.status === 401) {
      this.registration.cookies?.keepPrivate(request, this.reply)
      return runWithoutUser(request, done)
    }
    this.end(() => refuse(this, error))
  }

  /** Answers in the name of nobody: where a request of somebody has injected this one, its user stays outside. */
  end(answer: () => void): void {
    const { request, reply } = this
    runWithoutUser(request, () => afterLateCors(request, reply, answer))
  }
}

/** Two `Authorization` headers are refused: a proxy may have looked at the other one (RFC 9110 §5.3). */
function malformed(): Error {
  return refusal('auth.no-credentials-provided', { code: 'ERR_AUTH_MALFORMED_CREDENTIALS' })
}
