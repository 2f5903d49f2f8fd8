import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { ResolvedOptions } from '../options/resolve.js'
import { Attempt, type AcceptedPasswords } from './attempt.js'
import { sharedCounters, Throttle } from './throttle.js'

/** Tokens are counted apart: forging them is cheap, and must not make the counters of passwords be forgotten. */
interface Throttles {
  readonly throttle: Throttle | null
  readonly tokens: Throttle | null
}

export interface SharedThrottles {
  readonly throttles: { readonly made: Throttles; readonly key: readonly unknown[] }[]
}

export type Attempts = Awaited<ReturnType<typeof createAttempts>>

/** Counts the failed attempts of a registration: wrong passwords, and tokens that were rejected. */
export async function createAttempts(
  options: ResolvedOptions,
  app: SharedThrottles,
  cache: AcceptedPasswords | null,
  log: FastifyBaseLogger,
) {
  const { throttle, tokens } = await throttlesOf(options, app, log)
  const tokenAttempt = (name: string, request: FastifyRequest) =>
    new Attempt({ throttle: tokens, cache: null }, name, '', request)
  return {
    throttle,
    openAttempt: (username: string, password: string, request: FastifyRequest) =>
      new Attempt({ throttle, cache }, username, password, request),
    /** Counts a refresh token, API key, link or code that was rejected. @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS */
    countRejectedToken: async (name: string, request: FastifyRequest): Promise<void> => {
      const attempt = tokenAttempt(name, request)
      await attempt.rejectIfThrottled(true)
      await attempt.commitFailure()
    },
    /** @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS where so many were counted that the token is not looked up */
    rejectThrottledToken: async (name: string, request: FastifyRequest): Promise<void> =>
      tokenAttempt(name, request).rejectIfThrottled(true),
    stats: () => ({ throttled: (throttle?.throttled ?? 0) + (tokens?.throttled ?? 0) }),
  }
}

/** Registrations with the same users and settings share one, or two login routes would allow twice the guesses. */
async function throttlesOf(
  { throttle: settings, userService }: ResolvedOptions,
  app: SharedThrottles,
  log: FastifyBaseLogger,
): Promise<Throttles> {
  if (settings === false) return { throttle: null, tokens: null }
  const { perUsername, perAddress, window, redis, keyPrefix } = settings
  const key = [userService, perUsername, perAddress, window, redis, keyPrefix]
  const present = app.throttles.find((other) => key.every((part, at) => part === other.key[at]))
  if (present !== undefined) return present.made
  const counters = await sharedCounters(settings, log)
  const throttle = new Throttle(settings, counters)
  const made = { throttle, tokens: new Throttle(settings, counters, 'token-') }
  app.throttles.push({ made, key })
  return made
}
