import { channel } from 'node:diagnostics_channel'
import type { FastifyRequest } from 'fastify'
import { rejectionOf } from './errors/rejections.js'
import type { AuthenticationErrorLike } from '../types/errors.js'
import type { AuthnChannels, AuthnEvents } from '../types/events.js'

/**
 * The events of the package: channels of `node:diagnostics_channel`, for metrics and alarms. Each is the
 * channel that `subscribe('fastify-authn:failure', …)` finds by its name; here, its listeners are typed.
 * @example
 * channels.failure.subscribe(({ code, request }) => alarm(code, request.ip))
 */
export const channels = {} as AuthnChannels

/** Opens a channel. Whoever publishes calls it: the command line never loads the table of features. @internal */
export function channelOf<Name extends keyof AuthnEvents>(name: Name): AuthnChannels[Name] {
  Object.assign(channels, { [name]: channel(`fastify-authn:${name}`) })
  return channels[name]
}

const own = ['success', 'failure', 'login', 'throttled', 'overloaded', 'rehash'] as const
for (const name of own) channelOf(name)
const { success, failure, login, throttled, overloaded } = channels

/** The policy of a route; without `names` for those of the plugin. */
type Place = Readonly<{ names?: readonly string[]; registration?: { readonly name: string } }>

/** The channel of a rejected request by its status. Default: `failure`. */
const channelOfStatus = new Map([
  [429, throttled],
  [503, overloaded],
])

/** @returns `performance.now()`, or 0 while no channel has a listener, to save the time of reading the clock */
export function startClock(): number {
  const isWatched =
    success.hasSubscribers ||
    failure.hasSubscribers ||
    login.hasSubscribers ||
    throttled.hasSubscribers ||
    overloaded.hasSubscribers
  return isWatched ? performance.now() : 0
}

export function reportSuccess(
  request: FastifyRequest,
  user: object,
  authenticator: string,
  started: number,
  about?: object | null,
  { names: accepts = [], registration }: Place = {},
): void {
  const target = authenticator === 'login' ? login : success
  if (!target.hasSubscribers) return
  const duration = durationSince(started)
  const where = { request, registration: registration?.name as string }
  target.publish({ ...where, user, authenticator, accepts, duration, ...about })
}

/**
 * Reports a rejected request, with a reason that the client does not get: to its log and to its channel.
 * @param user - the user, if an authenticator has accepted one
 * @param about - what is said of the credentials
 */
export function reportRejection(
  request: FastifyRequest,
  error: AuthenticationErrorLike,
  authenticator: string,
  started: number,
  user: object | null = null,
  about?: object | null,
  { names: accepts = [], registration }: Place = {},
): void {
  const { code } = error
  const reason = reasonOf(request, error)
  const why = reason === null ? {} : { reason }
  const status = rejectionOf(code)?.status ?? 401
  const level = status < 429 ? 'info' : 'warn'
  const choice = accepts.length > 1 ? { accepts } : {}
  request.log[level]({ code, authenticator, ...choice, ...about, ...why }, 'Request rejected')
  const target = channelOfStatus.get(status) ?? failure
  if (!target.hasSubscribers) return
  const who = user === null ? {} : { user }
  const duration = durationSince(started)
  const where = { request, registration: registration?.name as string, code, ...why, ...who }
  target.publish({ ...where, ...about, authenticator, accepts, duration })
}

function reasonOf({ headers }: FastifyRequest, { code, cause }: AuthenticationErrorLike) {
  const { authorization } = headers
  const isMissing = code === 'ERR_AUTH_NO_CREDENTIALS'
  if (authorization !== undefined && (isMissing || code === 'ERR_AUTH_JWT_INVALID')) {
    // JavaScript makes one of these words of a missing token.
    const [, word] =
      /^bearer +(undefined|null|NaN|true|false|\[object \w+\])$/i.exec(authorization) ?? []
    if (word !== undefined) return `Authorization: "Bearer ${word}", so the client has no token`
  }
  if (typeof cause === 'string') return cause
  const isOther = isMissing && authorization !== undefined
  return isOther ? 'Authorization: no credentials of an accepted scheme' : null
}

/** @returns null if the first listener came after the start */
function durationSince(started: number): number | null {
  return started === 0 ? null : performance.now() - started
}
