import { channel } from 'node:diagnostics_channel'
import type { FastifyRequest } from 'fastify'
import { refusalOf } from './errors.js'
import type { AuthenticationErrorLike } from '../types/errors.js'

const success = channel('fastify-authn:success')
const failure = channel('fastify-authn:failure')
const login = channel('fastify-authn:login')
const throttled = channel('fastify-authn:throttled')
const overloaded = channel('fastify-authn:overloaded')

/** Where a refusal is reported, by its status. */
const channelOfStatus: Readonly<Record<number, typeof failure>> = {
  429: throttled,
  503: overloaded,
}

/** The moment at which work on a request begins; 0 when nobody wants to know how long it takes. */
export function startClock(): number {
  const isWatched =
    success.hasSubscribers ||
    failure.hasSubscribers ||
    login.hasSubscribers ||
    throttled.hasSubscribers ||
    overloaded.hasSubscribers
  return isWatched ? performance.now() : 0
}

/** Reports an authenticated request, or a login. */
export function reportSuccess(
  request: FastifyRequest,
  user: object,
  authenticator: string,
  started: number,
): void {
  const target = authenticator === 'login' ? login : success
  if (!target.hasSubscribers) return
  target.publish({ request, user, authenticator, duration: durationSince(started) })
}

/** Reports a refusal: in the log, with what the client is not told, and to subscribers. */
export function reportRefusal(
  request: FastifyRequest,
  error: AuthenticationErrorLike,
  authenticator: string,
  started: number,
): void {
  const { code, cause } = error
  const reason = typeof cause === 'string' ? { reason: cause } : {}
  const status = refusalOf(code)?.status ?? 401
  const level = status === 401 ? 'info' : 'warn'
  request.log[level]({ code, authenticator, ...reason }, 'Authentication refused')
  const target = channelOfStatus[status] ?? failure
  if (!target.hasSubscribers) return
  target.publish({ request, code, authenticator, duration: durationSince(started) })
}

/** Milliseconds; null when somebody has subscribed in between. */
function durationSince(started: number): number | null {
  return started === 0 ? null : performance.now() - started
}
