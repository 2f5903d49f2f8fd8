import { createHash } from 'node:crypto'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible'
import { AuthenticationError } from './errors.js'

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

/** Who guesses, as the counters know it. */
interface Suspect {
  readonly username: string
  readonly address: string
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
  /** Addresses with failures in this process: for all others nothing has to be looked up. */
  readonly #failed: LRUCache<string, true>
  #reported = -Infinity
  #throttled = 0

  constructor(settings: ThrottleSettings, log: FastifyBaseLogger) {
    const { perUsername, perAddress, window: duration, redis, keyPrefix } = settings
    const username = { points: perUsername, duration, keyPrefix: `${keyPrefix}:user` }
    const address = { points: perAddress, duration, keyPrefix: `${keyPrefix}:address` }
    const store = { storeClient: redis, rejectIfRedisNotReady: true }
    this.#settings = settings
    this.#log = log
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
    this.#failed = new LRUCache({ max: 100_000, ttl: duration * 1000 })
  }

  /** Count of refusals, for `app.authn.stats()`. */
  get throttled(): number {
    return this.#throttled
  }

  /**
   * Refuses those with too many failures, as far as this process knows.
   *
   * @returns a promise only when there is something to look up
   * @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS
   */
  check(username: string, request: FastifyRequest): Promise<void> | undefined {
    const address = addressOf(request.ip)
    if (!this.#failed.has(address)) return undefined
    return this.#check(this.#local, suspect(username, address))
  }

  /** The same as far as all processes know: before work that is worth asking the shared store. */
  async checkShared(username: string, request: FastifyRequest): Promise<void> {
    const shared = this.#shared
    if (shared === null) return this.check(username, request)
    const who = suspect(username, addressOf(request.ip))
    await this.#ask(
      () => this.#check(shared, who),
      () => this.check(username, request),
    )
  }

  /** Counts a failure. */
  async failed(username: string, request: FastifyRequest): Promise<void> {
    const who = suspect(username, addressOf(request.ip))
    this.#failed.set(who.address, true)
    await count(this.#local, who)
    const shared = this.#shared
    if (shared !== null) await this.#ask(() => count(shared, who))
  }

  /** Forgets the failures of a username; those of the address stay. */
  async succeeded(username: string, request: FastifyRequest): Promise<void> {
    const who = suspect(username, addressOf(request.ip))
    await this.#local.username.delete(who.username)
    const shared = this.#shared
    if (shared !== null) await this.#ask(() => shared.username.delete(who.username))
  }

  /**
   * Whether a success may have anything to forget: in this process, or in others.
   *
   * @param cheaply - only what this process knows of, for requests that the shared store was not asked for
   */
  mayForget(request: FastifyRequest, cheaply: boolean): boolean {
    return (this.#shared !== null && !cheaply) || this.#failed.has(addressOf(request.ip))
  }

  async #check(counters: Counters, who: Suspect): Promise<void> {
    const { perUsername, perAddress } = this.#settings
    const [username, address] = await Promise.all([
      counters.username.get(who.username),
      counters.address.get(who.address),
    ])
    const waits = [
      username !== null && username.consumedPoints >= perUsername ? username.msBeforeNext : 0,
      address !== null && address.consumedPoints >= perAddress ? address.msBeforeNext : 0,
    ]
    const wait = Math.max(...waits)
    if (wait <= 0) return
    this.#throttled += 1
    throw new AuthenticationError('auth.too-many-attempts', { retryAfter: Math.ceil(wait / 1000) })
  }

  /** Asks the shared store; one that fails or is slow is reported, and the others' word counts. */
  async #ask(
    question: () => Promise<unknown>,
    instead?: () => Promise<void> | undefined,
  ): Promise<void> {
    try {
      await within(patience, question())
    } catch (error) {
      if (error instanceof AuthenticationError) throw error
      this.#report(error)
      await instead?.()
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

async function count(counters: Counters, who: Suspect): Promise<void> {
  await Promise.all([
    counters.username.penalty(who.username),
    counters.address.penalty(who.address),
  ])
}

async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${milliseconds} ms`)), milliseconds)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Names that most databases take for one count as one; the store is not told who they are. */
function suspect(username: string, address: string): Suspect {
  const name = username
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .trim()
    .toLowerCase()
  const digest = createHash('sha256').update(name).digest('base64url')
  return { username: `${digest}@${address}`, address }
}

/**
 * What stands for the client of a request: an IPv4 address, or the first 64 bits of an IPv6 address, since
 * one host has all of the rest.
 */
export function addressOf(ip: string | undefined): string {
  // What a proxy or a client makes up must not become a name of its own, of any length.
  if (ip === undefined || !ipaddr.isValid(ip)) return 'unknown'
  if (!ip.includes(':')) return ip
  const address = ipaddr.process(ip)
  return address instanceof ipaddr.IPv6
    ? `${address.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::/64`
    : address.toString()
}
