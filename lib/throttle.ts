import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  type RateLimiterAbstract,
  type RateLimiterRes,
} from 'rate-limiter-flexible'
import { refusal } from './errors.js'
import { addressOf, suspect, type Suspect } from './suspect.js'

/** How often one may guess. */
export interface ThrottleSettings {
  /** Failures for one username from one address. */
  readonly perUsername: number
  /** Failures from one address. */
  readonly perAddress: number
  /** Seconds after the first failure until they are forgotten. */
  readonly window: number
  /** A client of ioredis, owned by the app, through which several processes share the counters. */
  readonly redis?: object | undefined
  /** What the names of the counters in Redis begin with. */
  readonly keyPrefix: string
}

/** The counters of failures, for one username from one address and for one address. */
interface Counters {
  readonly username: RateLimiterAbstract
  readonly address: RateLimiterAbstract
}

/** What is used of a client of ioredis. */
interface RedisClient {
  readonly status?: string
  connect?(): Promise<unknown>
}

/** A store that takes longer than this counts as down, in milliseconds. */
const patience = 500
/** A store that is down is reported once in this time, in milliseconds. */
const reportEvery = 60_000

/**
 * Counts failed logins and failed Basic attempts, and refuses to check more passwords when there were
 * too many: before any bcrypt work, and alike for users who exist and who do not.
 *
 * Every process counts in its memory. With Redis the processes also share counters; while it is down,
 * those in memory are what counts, and they have seen all that this process has seen.
 */
export class Throttle {
  readonly #settings: ThrottleSettings
  readonly #log: FastifyBaseLogger
  readonly #local: Counters
  readonly #shared: Counters | null
  readonly #redis: RedisClient
  /** Addresses with failures in this process, and until when: for all others nothing has to be looked up. */
  readonly #failed = new Map<string, number>()
  #reported = -Infinity
  #throttled = 0

  constructor(settings: ThrottleSettings, log: FastifyBaseLogger) {
    const { perUsername, perAddress, window: duration, redis, keyPrefix } = settings
    const username = { points: perUsername, duration, keyPrefix: `${keyPrefix}:user` }
    const address = { points: perAddress, duration, keyPrefix: `${keyPrefix}:address` }
    const store = { storeClient: redis, rejectIfRedisNotReady: true }
    this.#settings = settings
    this.#log = log
    this.#redis = redis ?? {}
    this.#local = {
      username: new RateLimiterMemory(username),
      address: new RateLimiterMemory(address),
    }
    this.#shared =
      redis === undefined
        ? null
        : {
            username: new RateLimiterRedis({ ...username, ...store }),
            address: new RateLimiterRedis({ ...address, ...store }),
          }
    // With lazyConnect it waits for a first command, which is not sent before it is ready.
    if (this.#redis.status === 'wait') {
      this.#redis.connect?.().catch((error: unknown) => this.#report(error))
    }
  }

  /** Count of refusals, for `app.authn.stats()`. */
  get throttled(): number {
    return this.#throttled
  }

  /**
   * Refuses those with too many failures in this process; what it finds, the shared store has to confirm,
   * since a success elsewhere may have reset it.
   *
   * @returns a promise only when there is something to look up
   * @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS
   */
  check(username: string, request: FastifyRequest): Promise<void> | undefined {
    if (this.#failed.size === 0) return undefined
    const address = addressOf(request.ip)
    return this.#hasFailed(address) ? this.#check(suspect(username, address)) : undefined
  }

  /** The same as far as all processes know: before work that is worth asking the shared store. */
  async checkShared(username: string, request: FastifyRequest): Promise<void> {
    const shared = this.#shared
    if (shared === null) return this.check(username, request)
    const who = suspect(username, addressOf(request.ip))
    const wait = await this.#ask(() => this.#waitOf(shared, who))
    this.#refuseFor(wait ?? (await this.#waitOf(this.#local, who)))
  }

  /** Counts a failure in this process: at once, while the place at the gate is still held. */
  async failedHere(username: string, request: FastifyRequest): Promise<void> {
    const who = suspect(username, addressOf(request.ip))
    this.#failed.delete(who.address)
    const now = performance.now()
    this.#failed.set(who.address, now + this.#settings.window * 1000)
    // The oldest come first: those whose time is over are not kept.
    for (const [address, until] of this.#failed) {
      if (until > now) break
      this.#failed.delete(address)
    }
    await count(this.#local, who)
  }

  /** Counts a failure, in this process and for all. */
  async failed(username: string, request: FastifyRequest): Promise<void> {
    await this.failedHere(username, request)
    await this.failedShared(username, request)
  }

  /** Counts for all processes a failure that is counted in this one. */
  async failedShared(username: string, request: FastifyRequest): Promise<void> {
    const shared = this.#shared
    if (shared === null) return
    const who = suspect(username, addressOf(request.ip))
    await this.#ask(() => count(shared, who))
  }

  /**
   * Forgets the failures of a username; those of the address stay.
   *
   * @param cheaply - only where this process knows of some
   */
  async succeeded(username: string, request: FastifyRequest, cheaply = false): Promise<void> {
    const who = suspect(username, addressOf(request.ip))
    const known = await this.#local.username.delete(who.username)
    const shared = this.#shared
    if (shared === null || (cheaply && !known)) return
    await this.#ask(() => shared.username.delete(who.username))
  }

  /**
   * Whether a success may have anything to forget: in this process, or in others.
   *
   * @param cheaply - only what this process knows of, for requests that the shared store was not asked for
   */
  mayForget(request: FastifyRequest, cheaply = false): boolean {
    if (this.#shared !== null && !cheaply) return true
    return this.#failed.size > 0 && this.#hasFailed(addressOf(request.ip))
  }

  #hasFailed(address: string): boolean {
    const until = this.#failed.get(address)
    if (until === undefined || performance.now() < until) return until !== undefined
    this.#failed.delete(address)
    return false
  }

  async #check(who: Suspect): Promise<void> {
    const wait = await this.#waitOf(this.#local, who)
    const shared = this.#shared
    if (wait === 0 || shared === null) return this.#refuseFor(wait)
    this.#refuseFor((await this.#ask(() => this.#waitOf(shared, who))) ?? wait)
  }

  /** Milliseconds that somebody has to wait; 0 for nobody with too many failures. */
  async #waitOf(counters: Counters, who: Suspect): Promise<number> {
    const { perUsername, perAddress } = this.#settings
    const [username, address] = await Promise.all([
      counters.username.get(who.username),
      counters.address.get(who.address),
    ])
    return Math.max(waitFor(username, perUsername), waitFor(address, perAddress))
  }

  #refuseFor(wait: number): void {
    if (wait <= 0) return
    this.#throttled += 1
    throw refusal('auth.too-many-attempts', { retryAfter: Math.ceil(wait / 1000) })
  }

  /** Asks the shared store. @returns null from one that fails or is slow, which is reported */
  async #ask<T>(question: () => Promise<T>): Promise<T | null> {
    try {
      const { status = 'ready' } = this.#redis
      if (status !== 'ready') throw new Error(`the client of the store is not ready, but ${status}`)
      return await within(patience, question())
    } catch (error) {
      this.#report(error)
      return null
    }
  }

  #report(error: unknown): void {
    const now = performance.now()
    if (now - this.#reported < reportEvery) return
    this.#reported = now
    this.#log.error(
      { err: error },
      'The shared store of failed attempts does not answer; this process counts alone until it does',
    )
  }
}

function waitFor(counted: RateLimiterRes | null, limit: number): number {
  if (counted === null) return 0
  if (!Number.isFinite(counted.consumedPoints)) throw new TypeError('a counter holds no number')
  return counted.consumedPoints >= limit ? counted.msBeforeNext : 0
}

async function count(counters: Counters, who: Suspect): Promise<void> {
  await Promise.all([
    counters.username.penalty(who.username),
    counters.address.penalty(who.address),
  ])
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${milliseconds} ms`)), milliseconds)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
