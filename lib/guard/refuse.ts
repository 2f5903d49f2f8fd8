import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { isThenable } from '../common/objects.js'
import { refusalOf } from '../common/refusals.js'
import { faultOf } from '../errors.js'
import { reportRefusal } from '../events.js'
import type { AuthenticationErrorLike, RefusalCode } from '../../types/errors.js'
import type { LocalizedText } from '../http/language.js'
import type { Plan } from '../marks/plan.js'
import type { AuthUser } from '../../types/user-service.js'
import { challengeSchemes, sendRefusal, setChallenges, textOf } from './response.js'

/** A request that can be refused. */
export interface Refusable {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly done: HookHandlerDoneFunction
  readonly plan: Plan
  /** See {@link startClock}. */
  readonly started: number
  /** Whom an authenticator has accepted, where it got so far. */
  readonly user: AuthUser | null
}

/**
 * Refuses a request. First the header `WWW-Authenticate` is set, which every 401 needs (RFC 9110 section 15.5.2).
 * Then `onUnauthorized` of the authenticator may send a reply; if it sends none, the default reply is sent.
 */
export function refuse(attempt: Refusable, error: AuthenticationErrorLike): void {
  const { request, reply, done, plan, started, user } = attempt
  try {
    const schemes = challengeSchemes(plan.authenticator)
    reportRefusal(request, error, plan.name, started, hintOf(error, request), user)
    const localized = textOf(error, request, plan.registration)
    setChallenges(error, request, reply, plan.registration, schemes, plan.needs?.scope)
    if (plan.authenticator.onUnauthorized === undefined) sendRefusal(error, localized, reply)
    else ask(attempt, error, localized)
  } catch (fault) {
    done(faultOf('ERR_AUTH_ON_UNAUTHORIZED', fault))
  }
}

/** Calls `onUnauthorized`, and sends the default reply when that sends none. */
function ask(attempt: Refusable, error: AuthenticationErrorLike, localized: LocalizedText): void {
  const { request, reply, done, plan } = attempt
  const isAnswered = watchReply(reply, error.code)
  const finish = (): void => {
    if (!isAnswered()) sendRefusal(error, localized, reply)
  }
  const giveUp = (fault: unknown): void => {
    if (isAnswered()) {
      request.log.error({ err: fault }, 'onUnauthorized failed after it had answered')
      return
    }
    reply.removeHeader('www-authenticate')
    done(faultOf('ERR_AUTH_ON_UNAUTHORIZED', fault))
  }
  let written: unknown
  try {
    written = plan.authenticator.onUnauthorized?.(localize(error, localized), request, reply)
    if (written === reply || !isThenable(written)) return finish()
  } catch (fault) {
    return giveUp(fault)
  }
  Promise.resolve(written).then(finish).catch(giveUp)
}

/**
 * @returns a copy of the error with its message in the language of the request. A copy, since an app may throw
 * one error object for many requests. An error with a text of the app is returned as it is
 */
function localize(
  error: AuthenticationErrorLike,
  { text, language }: LocalizedText,
): AuthenticationErrorLike {
  if (language === null) return error
  const { message: _, stack: __, ...own } = Object.getOwnPropertyDescriptors(error)
  const copy = Object.setPrototypeOf(new Error(text), Object.getPrototypeOf(error)) as Error
  // On newer versions of Node, `stack` is a getter that works only on the original error.
  const stack = { value: error.stack, writable: true, configurable: true }
  return Object.defineProperties(copy, { ...own, stack }) as AuthenticationErrorLike
}

/**
 * Watches whether `onUnauthorized` sends a reply: `reply.sent` is still false while `onSend` hooks run. From a reply
 * that is no 401, such as a redirect to a login page, our `WWW-Authenticate` is removed, unless its status is the one
 * of the refusal.
 *
 * @returns a function that says whether a reply was sent
 */
function watchReply(reply: FastifyReply, code: RefusalCode): () => boolean {
  const { send } = reply
  const challenges = reply.getHeader('www-authenticate')
  let called = false
  reply.send = (...args) => {
    called = true
    const isOurs = reply.getHeader('www-authenticate') === challenges
    // When an error is sent, Fastify sets the status later.
    const isExpected = [401, refusalOf(code)?.status].includes(reply.statusCode)
    const isOther = !isExpected && !(args[0] instanceof Error)
    if (isOurs && isOther) reply.removeHeader('www-authenticate')
    return send.apply(reply, args)
  }
  return () => called || reply.sent || reply.raw.headersSent
}

/** For the log, where no credentials were found: the header may have a scheme that the route does not accept. */
function hintOf({ code }: AuthenticationErrorLike, { headers }: FastifyRequest): string | null {
  return code === 'ERR_AUTH_NO_CREDENTIALS' && headers.authorization !== undefined
    ? 'Authorization: no credentials of an accepted scheme'
    : null
}
