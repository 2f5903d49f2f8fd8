import { refusal } from '../errors.js'
import { clientKeys, type Suspect } from './client-key.js'
import { count, limitsOf, localCounters, uncount, waitsOf } from './counters.js'
import type { Counters, Numbers } from './counters.js'
import type { ResolvedThrottle } from '../options/resolve.js'
import type { SharedCounters } from './shared-counters.js'

/**
 * Counts failed logins and failed Basic attempts, and refuses to check more passwords when there were
 * too many: before any bcrypt work, and alike for users who exist and who do not.
 *
 * Every process counts in its memory. With Redis the processes also share counters; while it is down,
 * those in memory are what counts, and they have seen all that this process has seen.
 */
export class Throttle {
  readonly #settings: ResolvedThrottle
  readonly #local: Counters
  readonly #shared: SharedCounters | null
  /**
   * Networks with failures in this process, and until when: for all others nothing has to be looked up.
   * An IPv4 address is a network of its own.
   */
  readonly #failed = new Map<string, number>()
  #throttled = 0

  /** @param shared - of the same settings; null where this process counts alone */
  constructor(settings: ResolvedThrottle, shared: SharedCounters | null) {
    this.#settings = settings
    this.#local = localCounters(settings)
    this.#shared = shared
  }

  /** Count of refusals, for `app.authn.stats()`. */
  get throttled(): number {
    return this.#throttled
  }

  /** Whether processes share the counters. */
  get isShared(): boolean {
    return this.#shared !== null
  }

  /** Whether this process has counted a failure from the network of a client. */
  hasFailed(ip: string | undefined): boolean {
    if (this.#failed.size === 0) return false
    const network = networkOf(clientKeys(ip))
    const until = this.#failed.get(network)
    if (until === undefined || performance.now() < until) return until !== undefined
    this.#failed.delete(network)
    return false
  }

  /**
   * Milliseconds that somebody has to wait. A wait that this process finds has to be confirmed by the shared
   * store, since a success in another process may have ended it.
   *
   * @param everywhere - whether waits that only the shared store knows of are worth asking for
   */
  async waits(who: Suspect, everywhere: boolean): Promise<Numbers> {
    const here = await waitsOf(this.#local, who, this.#settings)
    const ask = everywhere || Math.max(...Object.values(here)) > 0
    return this.#shared !== null && ask ? this.#shared.waits(who, here) : here
  }

  /** @throws ERR_AUTH_TOO_MANY_ATTEMPTS, to try again after so many milliseconds */
  refuse(wait: number): never {
    this.#throttled += 1
    throw refusal('auth.too-many-attempts', { retryAfter: Math.ceil(wait / 1000) })
  }

  /** Counts a failure in this process, before anything is awaited. @returns how many there are */
  count(who: Suspect): Promise<Numbers> {
    const network = networkOf(who)
    this.#failed.delete(network)
    const now = performance.now()
    this.#failed.set(network, now + this.#settings.window * 1000)
    // The oldest come first: those whose time is over are not kept.
    for (const [network, until] of this.#failed) {
      if (until > now) break
      this.#failed.delete(network)
    }
    return count(this.#local, who)
  }

  /** Counts a failure in advance. @throws (rejects) ERR_AUTH_TOO_MANY_ATTEMPTS when it is one too many */
  async claim(who: Suspect): Promise<void> {
    const counted = await this.count(who)
    const limits = limitsOf(this.#settings)
    const { username, address, network } = counted
    if (username > limits.username || address > limits.address || network > limits.network) {
      this.refuse(Math.max(...Object.values(await waitsOf(this.#local, who, this.#settings))))
    }
  }

  /** Counts for all processes a failure that is counted in this one. */
  async share(who: Suspect): Promise<void> {
    await this.#shared?.count(who)
  }

  /** Takes back a failure that only this process has counted. */
  async takeBack(who: Suspect): Promise<void> {
    await uncount(this.#local, who)
  }

  /**
   * Forgets the failures of a username.
   *
   * @param cheaply - in the shared store only where this process knows of some
   */
  async forget(who: Suspect, cheaply: boolean): Promise<void> {
    const known = await this.#local.username.delete(who.username)
    if (known || !cheaply) await this.#shared?.forget(who)
  }
}

function networkOf({ address, network }: Pick<Suspect, 'address' | 'network'>): string {
  return network ?? address
}
