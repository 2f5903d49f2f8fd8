import { AsyncResource } from 'node:async_hooks'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { isThenable } from '../common/objects.js'
import { refusalOf } from '../errors/refusals.js'
import { malformed } from '../authenticators/basic.js'
import { faultOf, isAuthenticationError, refusal } from '../errors/errors.js'
import { reportSuccess, startClock } from '../events.js'
import { credentialsOf, hasSeveral } from '../http/authorization.js'
import { ABANDONED } from '../http/disconnect.js'
import type { Plan } from '../marks/plan.js'
import { kContext, setClaims, setUser, shared, stateOf } from '../request/state.js'
import { viewOf } from '../users/view.js'
import type { AuthUser } from '../../types/user-service.js'
import { requireAccess } from './access.js'
import { beforeBody, mayHaveBody } from './again.js'
import { refuse } from './refuse.js'

/** The key of a {@link Planned} in the `config` of its route. Fastify copies it with the `config`. */
export const kPlanned = Symbol('fastify-authn.planned')

/** What is decided about a route when the app gets ready. */
export interface Planned {
  /** Null for an open route; undefined until the app is ready. */
  plan: Plan | null | undefined
}

/**
 * The one `onRequest` hook of an app and all its scopes. It goes by the route that Fastify matched, and by what was
 * decided about that route when the app got ready; the text of the URL is never looked at.
 */
export function guard(
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  // Each read of `routeOptions` makes a new object.
  const config = request.routeOptions.config as { readonly [kPlanned]?: Planned } | undefined
  const plan = config?.[kPlanned]?.plan
  if (plan) return new Attempt(request, reply, done, plan).begin()
  if (plan === null || request.is404) return runInContext(request, null, done)
  done(faultOf('ERR_AUTH_UNGUARDED', new Error('The route is not known.')))
}

/** One request on its way through the guard: it passes, is rejected, or gets an internal error. */
export class Attempt {
  /** See {@link startClock}. */
  readonly started = startClock()
  /** The user that an authenticator has accepted. */
  user: AuthUser | null = null

  constructor(
    readonly request: FastifyRequest,
    readonly reply: FastifyReply,
    readonly done: HookHandlerDoneFunction,
    readonly plan: Plan,
    readonly isAgain = false,
  ) {}

  /** Asks the authenticator. Its result is awaited only where it is a promise. */
  begin(): void {
    const { request, plan } = this
    // The requests that @fastify/websocket injects have no rawHeaders.
    const { rawHeaders } = request.raw as { rawHeaders?: string[] }
    // A proxy may have read the other one (RFC 9110 §5.3).
    if (rawHeaders !== undefined && hasSeveral(rawHeaders)) return this.fail(malformed())
    if (plan.readsBasic && credentialsOf(request.headers.authorization, 'Basic') !== null) {
      // Browsers attach cached Basic credentials to the requests of every site, as they do with cookies.
      const error = plan.registration.carrier.refuse(request)
      if (error !== null) return this.fail(error)
    }
    let outcome: unknown
    try {
      outcome = plan.authenticator.authenticate(request)
      // Another thenable may settle twice.
      if (isThenable(outcome)) outcome = Promise.resolve(outcome)
    } catch (error) {
      return this.fail(error)
    }
    if (!(outcome instanceof Promise)) return this.settle(outcome)
    outcome.then(
      (user) => this.settle(user),
      (error: unknown) => this.fail(error),
    )
  }

  /** An object is a user; null stands for no credentials; any other value is rejected. */
  settle(outcome: unknown): void {
    if (outcome === null) {
      return this.plan.allowsAnonymous
        ? this.passAnonymous()
        : this.fail(refusal('auth.no-credentials-provided'))
    }
    // An error that is returned counts as if it had been thrown.
    if (outcome instanceof Error) return this.fail(outcome)
    if (typeof outcome === 'object' && !Array.isArray(outcome)) return this.pass(outcome)
    this.request.log.warn(
      { returned: Array.isArray(outcome) ? 'array' : typeof outcome },
      'An authenticator returned neither a user nor null; the request is rejected',
    )
    this.fail(refusal('auth.invalid-credentials'))
  }

  /** @param stored - the user as the authenticator returned it */
  pass(stored: object): void {
    const { request, reply, done, plan } = this
    const { hiddenFields, onPass } = plan.registration
    let user: AuthUser
    try {
      user = viewOf(stored, hiddenFields)
    } catch (error) {
      return done(faultOf('ERR_AUTH_AUTHENTICATOR', error))
    }
    setUser(request, user, stored, plan.nameFor(request))
    for (const each of onPass) each(request, reply)
    this.user = user
    if (plan.needs === null) this.enter(user)
    else requireAccess(this, plan.needs, user)
  }

  passAnonymous(): void {
    const { request, reply, done, plan } = this
    for (const each of plan.registration.onPass) each(request, reply)
    runInContext(request, null, done)
  }

  /** Lets the request pass with its user. */
  enter(user: AuthUser): void {
    const { request, reply, plan, started, isAgain } = this
    const { credential, authenticator } = stateOf(request) ?? {}
    if (!isAgain) {
      reportSuccess(request, user, authenticator ?? plan.name, started, credential, plan.names)
      beforeBody(request, (next) => new Attempt(request, reply, next, plan, true).begin())
    }
    runInContext(request, user, this.done)
  }

  /** @param error - what `authenticate`, or a function of `access`, threw or rejected with */
  fail(error: unknown): void {
    const { request, done, plan } = this
    if (error === ABANDONED) return
    if (!isAuthenticationError(error)) {
      return runInContext(request, null, () => done(faultOf('ERR_AUTH_AUTHENTICATOR', error)))
    }
    const mayPass =
      error.code === 'ERR_AUTH_NO_CREDENTIALS' ? plan.allowsAnonymous : plan.mode === 'try'
    if (mayPass && refusalOf(error.code)?.status === 401) {
      // The claims of a valid token stay where its user is unknown; those of a rejected one must not be seen.
      const isUserUnknown = error.code === 'ERR_AUTH_INVALID_CREDENTIALS'
      if (plan.mode === 'try' && !isUserUnknown) setClaims(request, undefined)
      return this.passAnonymous()
    }
    // Without a user in the context: a handler with a user may have injected this request.
    runInContext(request, null, () => refuse(this, error))
  }
}

/**
 * Calls `next` with the user in the context; with null without one, since the context may have that of another request,
 * where a handler calls `app.inject()`, or that of `runAs`, where the server was started inside of it.
 */
export function runInContext(
  { raw }: FastifyRequest,
  user: AuthUser | null,
  next: () => void,
): void {
  const storage = shared[kContext]
  if (storage === undefined || (user ?? storage.getStore()) === undefined) return next()
  storage.run({ user }, () => {
    // Node emits the events of a body in the context of the connection. Without this, a content-type parser would see
    // the user or not, depending on how the body arrives.
    if (mayHaveBody(raw)) raw.emit = AsyncResource.bind(raw.emit.bind(raw))
    next()
  })
}
