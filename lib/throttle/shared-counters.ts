import RateLimiterRedis from 'rate-limiter-flexible/lib/RateLimiterRedis.js'
import type { FastifyBaseLogger } from 'fastify'
import type { Suspect } from './client-key.js'
import {
  count,
  counters,
  localCounters,
  read,
  take,
  waitsOf,
  type Counters,
  type Numbers,
} from './counters.js'
import { SharedStore } from './shared-store.js'
import type { ResolvedThrottle } from '../options/resolve.js'

/** Counters in Redis. */
export function sharedCounters(settings: ResolvedThrottle, redis: object): Counters {
  const store = { storeClient: redis, rejectIfRedisNotReady: true }
  return counters(settings, (options) => new RateLimiterRedis({ ...options, ...store }))
}

/**
 * The counters that processes share. The insurance limiter of rate-limiter-flexible does not do for them:
 * a store that answers reads and refuses writes would be asked for counts that nobody can add to.
 */
export class SharedCounters {
  readonly #counters: Counters
  readonly #settings: ResolvedThrottle
  readonly #store: SharedStore
  /** Failures that could not be written: they are added to the next ones of the same key. */
  readonly #owed: Counters
  /** Whether the last failure could not be written. */
  #refusesWrites = false

  constructor(settings: ResolvedThrottle, redis: object, log: FastifyBaseLogger) {
    this.#settings = settings
    this.#counters = sharedCounters(settings, redis)
    this.#owed = localCounters(settings)
    this.#store = new SharedStore(redis, log)
  }

  /**
   * Milliseconds to wait as far as all processes know. Where failures could not be written, the store does
   * not know of all, and the longer wait counts.
   *
   * @param here - the waits as far as this process knows, which count alone while there is no answer
   */
  async waits(who: Suspect, here: Numbers): Promise<Numbers> {
    const all = await this.#store.ask(() => waitsOf(this.#counters, who, this.#settings))
    if (all === null) return here
    const owed = await read(this.#owed, who)
    const wait = (kind: 'username'): number =>
      this.#refusesWrites || owed[kind] > 0 ? Math.max(here[kind], all[kind]) : all[kind]
    // No success ends these two: a store that has forgotten them was emptied, or gives wrong counts.
    const address = Math.max(here.address, all.address)
    const network = Math.max(here.network, all.network)
    return { username: wait('username'), address, network }
  }

  /** Counts a failure, with those that are owed. */
  async count(who: Suspect): Promise<void> {
    const owed = await take(this.#owed, who)
    const failures = {
      username: owed.username + 1,
      address: owed.address + 1,
      network: owed.network + 1,
    }
    const written = await this.#store.ask(async () => {
      await count(this.#counters, who, failures)
      return true
    })
    this.#refusesWrites = written === null
    if (this.#refusesWrites) await count(this.#owed, who, failures)
  }

  /** Forgets the failures of a username. */
  async forget({ username }: Suspect): Promise<void> {
    await this.#owed.username.delete(username)
    await this.#store.ask(() => this.#counters.username.delete(username))
  }
}
