import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { loadBcrypt } from './bcrypt.js'
import { createCredentialCheck } from './check.js'
import type { CheckTools } from './check-tools.js'
import { CredentialCache } from './credential-cache.js'
import { HashingQueue } from './queue.js'
import { withoutUndefined } from '../common/objects.js'
import { PasswordAttempt } from './attempt.js'
import { Throttle } from '../throttle/throttle.js'
import { resolveHashing, type ResolvedOptions } from '../options/resolve.js'
import type { HashingOptions } from '../../types/passwords.js'

/** Shared by all registrations of an app. */
export interface SharedTools {
  /** The queue and the option `hashing` of the first registration, which are the defaults of the others. */
  hashing: { readonly queue: HashingQueue; readonly given: HashingOptions } | null
  readonly throttles: { readonly made: Throttles; readonly key: readonly unknown[] }[]
}

/** Tokens are counted apart: forging them is cheap, and must not make the counters of passwords be forgotten. */
export interface Throttles {
  readonly throttle: Throttle | null
  readonly tokens: Throttle | null
}

type Users = Pick<CheckTools, 'userService' | 'passwordField'>

export type PasswordTools = Awaited<ReturnType<typeof createPasswordTools>>

/** Makes the queue, the throttle and the credential cache of a registration. */
export async function createPasswordTools(
  options: ResolvedOptions,
  app: SharedTools,
  log: FastifyBaseLogger,
) {
  const { maxPasswordBytes, userServiceTimeout, userService } = options
  if (userService !== undefined) await loadBcrypt()
  const given = withoutUndefined(options.hashing ?? {})
  const hashing = resolveHashing({ ...app.hashing?.given, ...given })
  const { queue } = (app.hashing ??= { queue: new HashingQueue(hashing), given })
  const { throttle, tokens } = await throttlesOf(options, app, log)
  const cache =
    options.credentialCache === false ? null : new CredentialCache(options.credentialCache)
  const tools = { ...hashing, maxPasswordBytes, userServiceTimeout, queue, throttle }
  const tokenAttempt = (name: string, request: FastifyRequest) =>
    new PasswordAttempt({ throttle: tokens, cache: null }, name, '', request)
  return {
    basicCheck: (users: Users) => createCredentialCheck({ ...tools, ...users, cache }),
    loginCheck: (users: Users, validAfter: (user: object) => number) =>
      createCredentialCheck({ ...tools, ...users, cache: null }, validAfter),
    /** An attempt whose credentials are checked elsewhere. */
    openAttempt: (username: string, password: string, request: FastifyRequest) =>
      new PasswordAttempt({ throttle, cache }, username, password, request),
    /**
     * Counts a refresh token or an API key that was rejected, apart from wrong passwords.
     *
     * @param name - what failures are counted by, beside the address
     * @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS after too many
     */
    countRejectedToken: async (name: string, request: FastifyRequest): Promise<void> => {
      const attempt = tokenAttempt(name, request)
      await attempt.refuseIfThrottled(true)
      await attempt.commitFailure()
    },
    /** @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS where so many were counted that the token is not looked up */
    refuseToken: async (name: string, request: FastifyRequest): Promise<void> =>
      tokenAttempt(name, request).refuseIfThrottled(true),
    stats: () => ({
      hashing: { ...queue.stats },
      credentials: cache?.stats ?? { hits: 0, misses: 0, size: 0 },
      throttled: (throttle?.throttled ?? 0) + (tokens?.throttled ?? 0),
    }),
  }
}

/**
 * Registrations with the same users and settings share one throttle, or two login routes would allow twice the guesses.
 */
async function throttlesOf(
  { throttle: settings, userService }: ResolvedOptions,
  app: SharedTools,
  log: FastifyBaseLogger,
): Promise<Throttles> {
  if (settings === false) return { throttle: null, tokens: null }
  const { perUsername, perAddress, window, redis, keyPrefix } = settings
  const key = [userService, perUsername, perAddress, window, redis, keyPrefix]
  const present = app.throttles.find((other) => key.every((part, at) => part === other.key[at]))
  if (present !== undefined) return present.made
  const counters = redis
    ? (await import('../throttle/redis-counters.js')).openRedisCounters(settings, redis, log)
    : null
  const throttle = new Throttle(settings, counters)
  const made = { throttle, tokens: new Throttle(settings, counters, 'token-') }
  app.throttles.push({ made, key })
  return made
}
