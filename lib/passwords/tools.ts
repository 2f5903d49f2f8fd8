import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { isProduction } from '../common/production.js'
import { createCredentialCheck } from './check.js'
import { CredentialCache } from './credential-cache.js'
import { inheritHashing, isBelow, longestFor, resolveHashing } from './hashing.js'
import { argon2 } from './kinds/argon2.js'
import { HashingQueue } from './queue.js'
import {
  hashInTurn,
  isOutdated,
  longestOf,
  parseHash,
  readHash,
  requireText,
  verifyInTurn,
  type Hashing,
} from './verify.js'
import { PasswordAttempt, type CheckTools } from './attempt.js'
import { sharedCounters, Throttle } from '../throttle/throttle.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { Authn } from '../../types/authn.js'
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
  const { userServiceTimeout } = options
  const hashing = await openHashing(options, app, log)
  const { throttle, tokens } = await throttlesOf(options, app, log)
  const cache =
    options.credentialCache === false ? null : new CredentialCache(options.credentialCache)
  const tools = { hashing, userServiceTimeout, throttle }
  const tokenAttempt = (name: string, request: FastifyRequest) =>
    new PasswordAttempt({ throttle: tokens, cache: null }, name, '', request)
  return {
    /** What `app.authn` has. */
    api: passwordApi(hashing),
    /** Loads the engines of new and announced hashes. @throws (rejects) where one is missing */
    load: async (): Promise<void> => {
      for (const { kind } of hashing.profiles) await kind.load()
    },
    /** Whether a stored string is a hash of any kind that the options know, above the ceilings too. */
    isHash: (stored: string): boolean => parseHash(stored, hashing.known) !== null,
    /** Whether a new password, in NFC, has at most the bytes that are hashed. */
    fits: (password: string): boolean => Buffer.byteLength(password) <= longestOf(hashing),
    /** Hashes a new password. @throws (rejects) as {@link hashInTurn}; ABANDONED when the client has disconnected */
    hashNew: (password: string, request: FastifyRequest): Promise<string> =>
      hashInTurn(hashing, password, longestOf(hashing), request),
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
      await attempt.rejectIfThrottled(true)
      await attempt.commitFailure()
    },
    /** @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS where so many were counted that the token is not looked up */
    rejectThrottledToken: async (name: string, request: FastifyRequest): Promise<void> =>
      tokenAttempt(name, request).rejectIfThrottled(true),
    stats: () => ({
      hashing: { ...hashing.queue.stats },
      credentials: cache?.stats ?? { hits: 0, misses: 0, size: 0 },
      throttled: (throttle?.throttled ?? 0) + (tokens?.throttled ?? 0),
    }),
  }
}

/** @throws (rejects) ERR_AUTH_OPTION */
async function openHashing(
  { hashing: option, maxPasswordBytes, userServiceTimeout }: ResolvedOptions,
  app: SharedTools,
  log: FastifyBaseLogger,
): Promise<Hashing> {
  const given = inheritHashing(app.hashing?.given, option)
  const hashing = resolveHashing(given, userServiceTimeout)
  const { wanted, profiles } = hashing
  // Only this engine may be missing on a machine for which the package was installed.
  if (profiles.some(({ kind }) => kind === argon2)) await argon2.load()
  if (option !== undefined && isProduction() && isBelow(wanted, wanted.kind.owasp)) {
    log.warn(
      `fastify-authn: the parameters of ${wanted.kind.name} in the option "hashing" are below those that OWASP recommends, so that stolen hashes are cheap to guess. Leave them out for the defaults, which are not.`,
    )
  }
  const { queue } = (app.hashing ??= { queue: new HashingQueue(hashing.queue), given })
  return { ...hashing, queue, maxPasswordBytes: maxPasswordBytes ?? longestFor(wanted.kind) }
}

function passwordApi(
  hashing: Hashing,
): Pick<Authn, 'hashPassword' | 'verifyPassword' | 'needsRehash'> {
  const { wanted } = hashing
  const hashOf = (stored: unknown) => readHash(stored, hashing).hash
  return {
    hashPassword: async (password) => hashInTurn(hashing, password, longestOf(hashing)),
    async verifyPassword(password, storedHash) {
      requireText(password)
      return (await verifyInTurn(hashing, password, hashOf(storedHash))) !== null
    },
    needsRehash: (storedHash) => isOutdated(wanted, hashOf(storedHash)),
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
  const counters = await sharedCounters(settings, log)
  const throttle = new Throttle(settings, counters)
  const made = { throttle, tokens: new Throttle(settings, counters, 'token-') }
  app.throttles.push({ made, key })
  return made
}
