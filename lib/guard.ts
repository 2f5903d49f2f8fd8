import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
} from 'fastify'
import { ABANDONED } from './client.js'
import { runWithoutUser, runWithUser } from './context.js'
import { reportSuccess, startClock } from './diagnostics.js'
import {
  AuthenticationError,
  AuthenticationFault,
  AuthnUsageError,
  isAuthenticationError,
  refusalOf,
  refusal,
} from './errors.js'
import { faultOf, refuse, type Refusable } from './refuse.js'
import { registrationOf, type Plan, type Registration } from './registration.js'
import { kScopeMark } from './symbols.js'
import { hasSeveral } from './http/authorization.js'
import { isError, isThenable } from './objects.js'
import { setUser } from './decorators.js'
import { viewOf } from './user-view.js'
import { directOf, type Verdict } from './verdict.js'
import type { AuthUser } from '../types/user-service.js'

/** The mark of a scope, inherited by the scopes inside it. */
export function scopeMarkOf(server: FastifyInstance): unknown {
  return (server as { [kScopeMark]?: unknown })[kScopeMark]
}

/** What a place is called in errors. */
export function routeName(method: unknown, url: unknown): string {
  return `route ${[method].flat().join(',')} ${String(url)}, config.auth`
}

/**
 * The one `onRequest` hook of a Fastify instance tree (specification, "Authentication middleware").
 * It decides by the mark of the matched route, never by the text of the URL, and asks the
 * registration that is nearest to the route.
 */
export function guard(
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  // A new object at every reading, so it is read once.
  const { config, method, url } = request.routeOptions
  const own: unknown = config.auth
  const mark = own === undefined ? scopeMarkOf(request.server) : own
  if (mark === undefined || mark === false || request.is404) return runWithoutUser(done)
  if (own === undefined && isPreflight(request, method, url)) return runWithoutUser(done)

  const registration = registrationOf(request.server)
  let plan: Plan
  try {
    if (registration === undefined) throw unguarded(request.method, url)
    plan = registration.knownPlan(mark) ?? registration.plan(mark, routeName(request.method, url))
  } catch (error) {
    return done(new AuthenticationFault('ERR_AUTH_UNGUARDED', error))
  }
  if (plan.mode === false) return runWithoutUser(done)
  new Passage(request, reply, done, registration, plan, startClock()).begin()
}

/** @returns the error of a marked route that lies in no scope of the plugin */
export function unguarded(method: unknown, url: unknown): AuthnUsageError {
  return new AuthnUsageError(
    'ERR_AUTH_MARK',
    `${routeName(method, url)}: the route is marked, but the plugin is not registered in its scope or around it. Register the plugin there (most apps register it once, at the root).`,
  )
}

/**
 * A CORS preflight (Fetch standard, "CORS-preflight request") that no route of the app matched but the
 * catch-all of @fastify/cors, which inherits the mark of its scope and answers nothing else.
 */
function isPreflight(request: FastifyRequest, method: unknown, url: string | undefined): boolean {
  return (
    method === 'OPTIONS' &&
    url === `${request.server.prefix}*` &&
    'corsPreflightEnabled' in request &&
    request.headers.origin !== undefined &&
    request.headers['access-control-request-method'] !== undefined
  )
}

/** Two `Authorization` headers are refused: a proxy may have looked at the other one (RFC 9110 §5.3). */
function malformed(): AuthenticationError {
  return refusal('auth.no-credentials-provided', {
    code: 'ERR_AUTH_MALFORMED_CREDENTIALS',
  })
}

/** A request on its way through the guard. */
class Passage implements Refusable, Verdict {
  constructor(
    readonly request: FastifyRequest,
    readonly reply: FastifyReply,
    readonly done: HookHandlerDoneFunction,
    readonly registration: Registration,
    readonly plan: Plan,
    readonly started: number,
  ) {}

  begin(): void {
    const { request, plan } = this
    // What @fastify/websocket injects has no raw headers.
    const { rawHeaders } = request.raw as { rawHeaders?: string[] }
    if (rawHeaders !== undefined && hasSeveral(rawHeaders)) return this.fail(malformed())
    const { authenticator } = plan
    // Asked every time: the app may have replaced `authenticate` since the plan was made.
    const direct = directOf(authenticator)
    if (direct !== undefined) return direct(request, this)
    let outcome: unknown
    try {
      outcome = authenticator.authenticate(request)
      // What only looks like a promise may throw, or settle twice.
      if (isThenable(outcome) && !(outcome instanceof Promise)) outcome = Promise.resolve(outcome)
    } catch (error) {
      return this.fail(error)
    }
    if (!(outcome instanceof Promise)) return this.judge(outcome)
    outcome.then(
      (user) => this.judge(user),
      (error: unknown) => this.fail(error),
    )
  }

  /** Success is an object; null is nobody; whatever else there may be is a refusal. */
  judge(outcome: unknown): void {
    if (outcome === null) {
      return this.plan.nobodyPasses
        ? runWithoutUser(this.done)
        : this.fail(refusal('auth.no-credentials-provided'))
    }
    // Returned in place of thrown, as one does in Go.
    if (isError(outcome)) return this.fail(outcome)
    if (typeof outcome === 'object' && !Array.isArray(outcome)) return this.pass(outcome)
    this.request.log.warn(
      { returned: Array.isArray(outcome) ? 'array' : typeof outcome },
      'An authenticator returned neither a user nor null; the request is refused',
    )
    this.fail(refusal('auth.invalid-credentials'))
  }

  pass(stored: object): void {
    const { request, done, registration, plan, started } = this
    let user: AuthUser
    try {
      user = viewOf(stored, registration.hiddenFields)
    } catch (error) {
      return done(faultOf('ERR_AUTH_AUTHENTICATOR', error))
    }
    setUser(request, user, stored)
    reportSuccess(request, user, plan.name, started)
    if (registration.options.asyncContext) runWithUser(user, done)
    else runWithoutUser(done)
  }

  fail(error: unknown): void {
    const { done, plan } = this
    // Its client is gone: nobody waits for an answer, and the handler must not run.
    if (error === ABANDONED) return
    if (!isAuthenticationError(error)) return done(faultOf('ERR_AUTH_AUTHENTICATOR', error))
    const forgiven =
      error.code === 'ERR_AUTH_NO_CREDENTIALS' ? plan.nobodyPasses : plan.mode === 'try'
    if (forgiven && refusalOf(error.code)?.status === 401) return runWithoutUser(done)
    refuse(this, error)
  }
}
