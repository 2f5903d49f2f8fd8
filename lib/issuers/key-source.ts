import type { FastifyBaseLogger } from 'fastify'
import { refusal } from '../errors.js'
import { channels } from '../events.js'
import { Attempts, never } from './attempts.js'
import { fetchKeySet } from './discovery.js'
import { reasonOf } from './fetch.js'
import { readKeySet, type IssuerKeys } from './keys.js'
import { limits } from './limits.js'
import { stopwatch } from './stopwatch.js'
import type { ResolvedIssuer } from '../options/resolve-issuers.js'
import type { IssuerStats } from '../../types/issuers.js'

/**
 * The keys of one issuer: what is known of them, and when they are asked for again. A set is fresh for 10 minutes. Then
 * the next request has it renewed in the background, and it is used for up to an hour more while that fails. A set for
 * ever would make it impossible for the issuer to take a key back.
 *
 * @typeParam KeySet - what is made of the keys of one set, such as a memory of tokens
 */
export class KeySource<KeySet> {
  readonly #issuer: ResolvedIssuer
  readonly #make: (keys: IssuerKeys) => KeySet
  readonly #log: FastifyBaseLogger
  #set: { readonly keys: IssuerKeys; readonly made: KeySet } | null = null
  /** Since the set came. */
  #age = never
  readonly #attempts = new Attempts()
  #running: Promise<void> | null = null
  #waiting = 0
  #abort: AbortController | null = null
  #isOpen = true

  constructor(issuer: ResolvedIssuer, make: (keys: IssuerKeys) => KeySet, log: FastifyBaseLogger) {
    this.#issuer = issuer
    this.#make = make
    this.#log = log
  }

  /** The set, where it may be used; null where there is none, or it is too old. Renews it in the background. */
  usable(): KeySet | null {
    const age = this.#age()
    if (age >= limits.fresh + limits.stale) this.#set = null
    else if (age >= limits.fresh) void this.#begin()
    return this.#set === null ? null : this.#set.made
  }

  /**
   * Waits for a set, where there is none.
   *
   * @throws AuthenticationError with the status 503
   */
  async obtain(): Promise<KeySet> {
    await this.#join(this.#begin())
    return this.usable() ?? this.#throwUnavailable()
  }

  /**
   * Asks for the set again, since it lacks a key. That is what a stranger can cause, so it happens at most every 30
   * seconds, whatever came of the last attempt.
   *
   * @returns a promise of the set, the old one where there is no other; null where it is not asked for now
   * @throws AuthenticationError with the status 503, where too many wait already
   */
  renewed(): Promise<KeySet | null> | null {
    const isAllowed = this.#running !== null || this.#attempts.sinceBegun() >= limits.unknownKid
    const running = isAllowed ? this.#begin() : null
    return running === null ? null : this.#join(running).then(() => this.usable())
  }

  /** Begins the first fetch. Nobody waits for it. */
  start(): void {
    void this.#begin()
  }

  /**
   * For the test kit: uses a set that was not fetched, and fetches none any more.
   *
   * @throws FetchError
   */
  replace(document: unknown): void {
    this.stop()
    const keys = readKeySet(document, this.#issuer.algorithms)
    this.#set = { keys, made: this.#make(keys) }
    this.#age = () => 0
  }

  /** Ends what is under way; nothing is fetched any more. */
  stop(): void {
    this.#isOpen = false
    this.#abort?.abort()
  }

  stats(): IssuerStats {
    const isUsed = this.#set !== null && this.#age() < limits.fresh + limits.stale
    return {
      keys: isUsed ? (this.#set?.keys.keys.size ?? 0) : 0,
      fetches: this.#attempts.made,
      failures: this.#attempts.failed,
      age: this.#set === null ? null : Math.floor(this.#age() / 1000),
    }
  }

  /** @returns the fetch that is under way or begins now; null while the pause after a failure lasts */
  #begin(): Promise<void> | null {
    if (this.#running !== null) return this.#running
    if (!this.#isOpen || this.#attempts.pause > 0) return null
    this.#attempts.begin()
    this.#running = this.#fetch().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #join(running: Promise<void> | null): Promise<void> {
    if (running === null || this.#waiting >= limits.waiting) return this.#throwUnavailable()
    this.#waiting += 1
    try {
      await running
    } finally {
      this.#waiting -= 1
    }
  }

  /** Never rejects. */
  async #fetch(): Promise<void> {
    const abort = new AbortController()
    this.#abort = abort
    // The connection keeps the process going, so that the timer need not.
    const timer = setTimeout(() => abort.abort(), limits.fetchTime).unref()
    const { name: issuer, algorithms } = this.#issuer
    let reason: string | null = null
    try {
      this.#accept(readKeySet(await fetchKeySet(this.#issuer, abort.signal), algorithms))
    } catch (error) {
      reason = abort.signal.aborted ? 'it took too long' : reasonOf(error)
      this.#fail(reason)
    } finally {
      clearTimeout(timer)
    }
    channels.issuer.publish({
      issuer,
      outcome: reason === null ? 'renewed' : 'failed',
      keys: this.stats().keys,
      leftOut: reason === null ? (this.#set?.keys.leftOut ?? 0) : 0,
      reason,
      duration: this.#attempts.sinceBegun(),
    })
  }

  #accept(keys: IssuerKeys): void {
    if (!this.#isOpen) return
    const { name: issuer } = this.#issuer
    if (keys.compromised > 0) {
      const about = { issuer, keys: keys.compromised }
      this.#log.warn(about, 'An issuer publishes private keys; these are not used')
    }
    if (this.#attempts.isFailing) this.#log.info({ issuer }, 'An issuer gives its keys again')
    this.#set = { keys, made: this.#make(keys) }
    this.#age = stopwatch()
    this.#attempts.succeed()
  }

  #fail(reason: string): void {
    this.#attempts.fail()
    if (!this.#isOpen) return
    const { keys, age } = this.stats()
    const about = { issuer: this.#issuer.name, reason, keys, age }
    this.#log.warn(about, 'The keys of an issuer could not be fetched')
  }

  #throwUnavailable(): never {
    const { pause, sinceBegun } = this.#attempts
    const left = this.#running === null ? pause : limits.fetchTime - sinceBegun()
    throw refusal('auth.overloaded', {
      code: 'ERR_AUTH_ISSUER_UNAVAILABLE',
      retryAfter: Math.max(1, Math.ceil(left / 1000)),
      cause: 'no usable key set',
    })
  }
}
