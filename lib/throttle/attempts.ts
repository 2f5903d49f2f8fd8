import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import type { ResolvedOptions } from '../options/resolve.js'
import { Attempt, type AcceptedPasswords } from './attempt.js'
import { SessionGuesses } from './guesses.js'
import { sharedCounters, Throttle } from './throttle.js'

/** Tokens are counted apart: forging them is cheap, and must not make the counters of passwords be forgotten. */
interface Throttles {
  readonly throttle: Throttle | null
  readonly tokens: Throttle | null
}

/** What counts where a body has a token. Each has a counter of its own, so that only the address has a limit. */
export type Counted = null | {
  isWrong(error: { readonly code?: unknown }): boolean
  /** Whether a client with too many wrong ones is rejected before the next is checked, by a look-up. */
  readonly isAsked?: boolean
}

export interface SharedThrottles {
  readonly throttles: { made: Throttles; key: readonly unknown[]; space: string }[]
}

export type Attempts = Awaited<ReturnType<typeof createAttempts>>

/** Counts failed attempts: wrong passwords, and tokens that were rejected. @param path - of the login, for Redis */
export async function createAttempts(
  options: ResolvedOptions,
  path: string,
  app: SharedThrottles,
  cache: AcceptedPasswords | null,
  log: FastifyBaseLogger,
) {
  const { throttle, tokens } = await throttlesOf(options, path, app, log)
  const tokenAttempt = (name: string, request: FastifyRequest) =>
    new Attempt({ throttle: tokens, cache: null }, name, '', request)
  const rejectThrottledToken = async (name: string, request: FastifyRequest): Promise<void> =>
    tokenAttempt(name, request).rejectIfThrottled(true)
  const countRejectedToken = async (name: string, request: FastifyRequest): Promise<void> => {
    await rejectThrottledToken(name, request)
    await tokenAttempt(name, request).commitFailure()
  }
  return {
    throttle,
    guesses: new SessionGuesses(throttle?.redis ?? null),
    openAttempt: (username: string, password: string, request: FastifyRequest) =>
      new Attempt({ throttle, cache }, username, password, request),
    /** Counts a refresh token, API key, link or code that was rejected. @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS */
    countRejectedToken,
    /** @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS where so many were counted that the token is not looked up */
    rejectThrottledToken,
    async counting<T>(of: Counted, body: unknown, request: FastifyRequest, work: () => Promise<T>) {
      const { token } = (body ?? {}) as { readonly token?: string }
      if (of === null || token === undefined) return work()
      const name = digestOf(token)
      if (of.isAsked) await rejectThrottledToken(name, request)
      return work().catch(async (error: unknown) => {
        if (of.isWrong(error as object)) await countRejectedToken(name, request)
        throw error
      })
    },
    stats: () => ({ throttled: (throttle?.throttled ?? 0) + (tokens?.throttled ?? 0) }),
  }
}

/** Registrations with the same users and settings share one, or two login routes would allow twice the guesses. */
async function throttlesOf(
  { throttle: settings, userService }: ResolvedOptions,
  path: string,
  app: SharedThrottles,
  log: FastifyBaseLogger,
): Promise<Throttles> {
  if (settings === false) return { throttle: null, tokens: null }
  const { perUsername, perAddress, window, redis, keyPrefix } = settings
  const key = [userService, perUsername, perAddress, window, redis, keyPrefix]
  const present = app.throttles.find((other) => key.every((part, at) => part === other.key[at]))
  if (present !== undefined) return present.made
  // Scopes without a prefix have the same path. In another process they come in the same order.
  const isTaken = app.throttles.some(({ space }) => space === `${path}:`)
  const space = isTaken ? `${path}#${app.throttles.length}:` : `${path}:`
  const counters = await sharedCounters(settings, log)
  const throttle = new Throttle(settings, counters, space)
  const made = { throttle, tokens: new Throttle(settings, counters, `${space}token-`) }
  app.throttles.push({ made, key, space })
  return made
}
