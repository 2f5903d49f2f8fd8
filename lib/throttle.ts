import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { refusal } from './errors.js'
import { addressOf, suspect, type Suspect } from './suspect.js'
import { count, localCounters, sharedCounters, waitOf } from './throttle/counters.js'
import { SharedStore } from './throttle/shared-store.js'
import type { Counters, ThrottleSettings } from './throttle/counters.js'

export type { ThrottleSettings } from './throttle/counters.js'

/**
 * Counts failed logins and failed Basic attempts, and refuses to check more passwords when there were
 * too many: before any bcrypt work, and alike for users who exist and who do not.
 *
 * Every process counts in its memory. With Redis the processes also share counters; while it is down,
 * those in memory are what counts, and they have seen all that this process has seen.
 */
export class Throttle {
  readonly #settings: ThrottleSettings
  readonly #local: Counters
  readonly #shared: Counters | null
  readonly #store: SharedStore
  /** Addresses with failures in this process, and until when: for all others nothing has to be looked up. */
  readonly #failed = new Map<string, number>()
  #throttled = 0

  constructor(settings: ThrottleSettings, log: FastifyBaseLogger) {
    this.#settings = settings
    this.#local = localCounters(settings)
    this.#shared = sharedCounters(settings)
    this.#store = new SharedStore(settings.redis ?? {}, log)
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
    const wait = await this.#store.ask(() => waitOf(shared, who, this.#settings))
    this.#refuseFor(wait ?? (await waitOf(this.#local, who, this.#settings)))
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
    await this.#store.ask(() => count(shared, who))
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
    await this.#store.ask(() => shared.username.delete(who.username))
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
    const wait = await waitOf(this.#local, who, this.#settings)
    const shared = this.#shared
    if (wait === 0 || shared === null) return this.#refuseFor(wait)
    this.#refuseFor((await this.#store.ask(() => waitOf(shared, who, this.#settings))) ?? wait)
  }

  #refuseFor(wait: number): void {
    if (wait <= 0) return
    this.#throttled += 1
    throw refusal('auth.too-many-attempts', { retryAfter: Math.ceil(wait / 1000) })
  }
}
