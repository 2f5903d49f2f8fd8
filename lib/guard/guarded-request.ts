import { AsyncResource } from 'node:async_hooks'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { isThenable } from '../common/objects.js'
import { rejectionOf } from '../errors/rejections.js'
import { faultOf, isAuthenticationError, rejection } from '../errors/errors.js'
import { reportSuccess, startClock } from '../events.js'
import { ABANDONED } from '../http/disconnect.js'
import type { RoutePolicy } from '../feature.js'
import { kDecision, type Decision, type Guarded } from './decision.js'
import {
  ensureState,
  kContext,
  localClaimsOf,
  setClaims,
  setUser,
  shared,
} from '../request/state.js'
import { viewOf } from '../users/view.js'
import type { AuthUser } from '../../types/user-service.js'
import { requireAccess } from './access.js'
import { mayHaveBody } from './again.js'
import { requestProblemOf } from './problem.js'
import { reject } from './reject.js'

/**
 * The one `onRequest` hook of an app and all its scopes. It goes by the route that Fastify matched, and by what was
 * decided about that route when the app got ready; the text of the URL is never looked at.
 */
export function guard(
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
  config: { readonly [kDecision]?: Decision } | undefined,
): void {
  const policy = config?.[kDecision]?.policy
  if (policy) return new GuardedRequest(request, reply, done, policy).begin()
  if (policy === null || request.is404) return runInContext(request, null, done)
  done(
    faultOf(
      'ERR_AUTH_UNGUARDED',
      new Error('fastify-authn did not see this route being declared, so it stays closed.'),
    ),
  )
}

/** One request on its way through the guard: it passes, is rejected, or gets an internal error. */
class GuardedRequest implements Guarded {
  readonly started = startClock()
  user: AuthUser | null = null
  /** Since when the request waits for its body. */
  since = 0

  constructor(
    readonly request: FastifyRequest,
    readonly reply: FastifyReply,
    readonly done: HookHandlerDoneFunction,
    readonly policy: RoutePolicy,
    readonly isAgain = false,
  ) {}

  /** Asks the authenticator. Its result is awaited only where it is a promise. */
  begin(): void {
    const { request, policy } = this
    const problem = requestProblemOf(request, policy.registration, policy)
    if (problem !== null) return this.onError(problem)
    let outcome: unknown
    try {
      outcome = policy.authenticator.authenticate(request)
      // A thenable that is no Promise may settle twice.
      if (isThenable(outcome)) outcome = Promise.resolve(outcome)
    } catch (error) {
      return this.onError(error)
    }
    if (!(outcome instanceof Promise)) return this.onResult(outcome)
    outcome.then(
      (user) => this.onResult(user),
      (error: unknown) => this.onError(error),
    )
  }

  /** An object is a user; null stands for no credentials; any other value is rejected. */
  onResult(outcome: unknown): void {
    if (outcome === null) {
      return this.policy.allowsAnonymous
        ? this.allowAnonymous()
        : this.onError(rejection('auth.no-credentials-provided'))
    }
    // An error that is returned counts as if it had been thrown.
    if (outcome instanceof Error) return this.onError(outcome)
    if (typeof outcome === 'object' && !Array.isArray(outcome)) return this.onUser(outcome)
    this.request.log.warn(
      { returned: Array.isArray(outcome) ? 'array' : typeof outcome },
      'An authenticator returned neither a user nor null; the request is rejected',
    )
    this.onError(rejection('auth.invalid-credentials'))
  }

  /** @param stored - the user as the authenticator returned it */
  onUser(stored: object): void {
    const { request, reply, done, policy } = this
    const { hiddenFields, onPass } = policy.registration
    let user: AuthUser
    try {
      user = viewOf(stored, hiddenFields)
    } catch (error) {
      return done(faultOf('ERR_AUTH_AUTHENTICATOR', error))
    }
    setUser(request, user, stored, policy.nameFor(request))
    for (const each of onPass) each(request, reply)
    this.user = user
    if (policy.needs === null) this.allow(user)
    else requireAccess(this, policy.needs, user)
  }

  allowAnonymous(): void {
    const { request, reply, done, policy } = this
    for (const each of policy.registration.onPass) each(request, reply)
    runInContext(request, null, done)
  }

  allow(user: AuthUser): void {
    const { request, policy, started, isAgain } = this
    const state = ensureState(request)
    if (!isAgain) {
      const { logFields, authenticator } = state
      reportSuccess(request, user, String(authenticator), started, logFields, policy)
      this.since = performance.now()
      if (mayHaveBody(request.raw)) state.again = this
    }
    runInContext(request, user, this.done)
  }

  /** Authenticates the request again, after its body. */
  beginAgain(done: HookHandlerDoneFunction): void {
    new GuardedRequest(this.request, this.reply, done, this.policy, true).begin()
  }

  /** Whether the session of its token has been revoked since. */
  isRevoked(): boolean {
    const claims = localClaimsOf(this.request)
    if (claims === null) return false
    try {
      for (const check of this.policy.registration.tokenChecks) check.claims?.(claims)
      return false
    } catch {
      return true
    }
  }

  onError(error: unknown): void {
    const { request, done, policy } = this
    if (error === ABANDONED) return
    if (!isAuthenticationError(error)) {
      return runInContext(request, null, () => done(faultOf('ERR_AUTH_AUTHENTICATOR', error)))
    }
    const mayPass =
      error.code === 'ERR_AUTH_NO_CREDENTIALS' ? policy.allowsAnonymous : policy.mode === 'try'
    if (mayPass && rejectionOf(error.code)?.status === 401) {
      // The claims of a valid token stay where its user is unknown; those of a rejected one must not be seen.
      const isUserUnknown = error.code === 'ERR_AUTH_INVALID_CREDENTIALS'
      if (policy.mode === 'try' && !isUserUnknown) setClaims(request, undefined)
      return this.allowAnonymous()
    }
    // The context gets no user: a handler with a user may have injected this request.
    runInContext(request, null, () => reject(this, error))
  }
}

/**
 * Calls `next` with the user in the context; with null without one, since the context may have that of another request,
 * where a handler calls `app.inject()`, or that of `runAs`, where the server was started inside of it.
 */
function runInContext({ raw }: FastifyRequest, user: AuthUser | null, next: () => void): void {
  const storage = shared[kContext]
  if (storage === undefined || (user ?? storage.getStore()) === undefined) return next()
  storage.run({ user }, () => {
    // Node emits the events of a body in the context of the connection. Without this, a content-type parser would see
    // the user or not, depending on how the body arrives.
    if (mayHaveBody(raw)) raw.emit = AsyncResource.bind(raw.emit.bind(raw))
    next()
  })
}
