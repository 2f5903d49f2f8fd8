import type { FastifyBaseLogger } from 'fastify'
import { rejection } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { Backoff, since } from '../http/backoff.js'
import { inTime, reasonOf } from '../http/fetch.js'
import { fetchKeySet } from './fetch.js'
import { readJwks, type IssuerKeys } from './keys.js'
import { limits } from './limits.js'
import type { VerifySignature } from '../tokens/engine.js'
import type { ResolvedIssuer } from './options.js'
import type { IssuerStats } from '../../types/issuers.js'

interface KeySet extends IssuerKeys {
  readonly verify: VerifySignature
  /** Milliseconds. */
  age(): number
}

/**
 * Fetches and holds the keys of one issuer. A set is fresh for 10 minutes; in the last two, requests renew it in the
 * background. After that it is used only while fetches fail, and for an hour at most, since the issuer has to be able
 * to withdraw a key.
 */
export class KeySource {
  #set: KeySet | null = null
  #running: Promise<void> | null = null
  #abort = new AbortController()
  #isOpen = true
  #waiting = 0
  readonly #counts = { fetches: 0, failures: 0 }
  readonly #backoff = new Backoff()
  #begunAt = -Infinity

  constructor(
    private readonly issuer: ResolvedIssuer,
    private readonly verifierOf: (keys: IssuerKeys) => VerifySignature,
    private readonly log: FastifyBaseLogger,
  ) {}

  /** Returns the verifier of the key set; null where the request has to wait for a newer one, by `obtain()`. */
  current(): VerifySignature | null {
    const set = this.#usable()
    if (set === null) return null
    const age = set.age()
    if (age >= limits.renew) void this.begin()
    return age < limits.fresh || since(this.#backoff.failedAt) < limits.failing ? set.verify : null
  }

  #usable(): KeySet | null {
    if (this.#set !== null && this.#set.age() >= limits.fresh + limits.stale) this.#set = null
    return this.#set
  }

  /** Waits for a set, where none may be used. @throws (rejects) AuthenticationError with the status 503 */
  obtain(): Promise<VerifySignature> {
    return this.#join(this.begin())
  }

  /**
   * Fetches the set again, since it lacks a key. Any client can cause that, so it happens at most every 30 seconds,
   * whether the last attempt failed or not.
   *
   * @returns a promise of the verifier, which may be the old one; null where nothing is fetched now
   * @throws (rejects) AuthenticationError with the status 503, where too many requests wait already
   */
  renewed(): Promise<VerifySignature> | null {
    const isAllowed = this.#running !== null || since(this.#begunAt) >= limits.unknownKid
    const running = isAllowed ? this.begin() : null
    return running && this.#join(running)
  }

  /** For the test kit: uses a set that was not fetched, and that does not age. */
  replace(document: unknown): void {
    this.stop()
    this.#use(readJwks(document, this.issuer.algorithms), () => 0)
  }

  /** Aborts a running fetch, and prevents others. */
  stop(): void {
    this.#isOpen = false
    this.#abort.abort()
  }

  stats(): IssuerStats {
    const set = this.#usable()
    return { keys: set?.keys.size ?? 0, ...this.#counts, age: set && Math.floor(set.age() / 1000) }
  }

  /** Begins to fetch. @returns the running fetch, or a new one; null during the pause after a failure */
  begin(): Promise<void> | null {
    if (this.#running !== null) return this.#running
    if (!this.#isOpen || this.#backoff.pause > 0) return null
    this.#counts.fetches += 1
    this.#begunAt = Date.now()
    this.#running = this.#fetch().finally(() => (this.#running = null))
    return this.#running
  }

  async #join(running: Promise<void> | null): Promise<VerifySignature> {
    if (running === null || this.#waiting >= limits.waiting) return this.#throwUnavailable()
    this.#waiting += 1
    await running
    this.#waiting -= 1
    return this.current() ?? this.#throwUnavailable()
  }

  /** Never rejects. */
  async #fetch(): Promise<void> {
    const abort = (this.#abort = new AbortController())
    const { name: issuer, algorithms } = this.issuer
    let reason: string | null = null
    let leftOut = 0
    try {
      const work = (signal: AbortSignal) => fetchKeySet(this.issuer, signal)
      const keys = readJwks(await inTime(work, limits.fetchTime, abort), algorithms)
      this.#accept(keys)
      leftOut = keys.leftOut
    } catch (error) {
      reason = reasonOf(error)
      this.#fail(reason)
    }
    channelOf('issuer').publish({
      issuer,
      outcome: reason === null ? 'renewed' : 'failed',
      keys: this.stats().keys,
      leftOut,
      reason,
      duration: since(this.#begunAt),
    })
  }

  #accept(keys: IssuerKeys): void {
    if (!this.#isOpen) return
    const { name: issuer } = this.issuer
    if (keys.compromised > 0) {
      const about = { issuer, keys: keys.compromised }
      this.log.warn(about, 'An issuer publishes private keys; these are not used')
    }
    if (this.#backoff.hasFailed) this.log.info({ issuer }, 'The keys of an issuer are back')
    const time = Date.now()
    this.#use(keys, () => since(time))
    this.#backoff.succeed()
  }

  #use(keys: IssuerKeys, age: () => number): void {
    this.#set = { ...keys, verify: this.verifierOf(keys), age }
  }

  #fail(reason: string): void {
    this.#counts.failures += 1
    this.#backoff.fail()
    const { keys, age } = this.stats()
    const about = { issuer: this.issuer.name, reason, keys, age }
    if (this.#isOpen) this.log.warn(about, 'The keys of an issuer could not be fetched')
  }

  #throwUnavailable(): never {
    const left =
      this.#running === null ? this.#backoff.pause : limits.fetchTime - since(this.#begunAt)
    throw rejection('auth.overloaded', {
      code: 'ERR_AUTH_ISSUER_UNAVAILABLE',
      retryAfter: Math.max(1, Math.ceil(left / 1000)),
      cause: 'no usable key set',
    })
  }
}
