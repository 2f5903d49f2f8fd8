import type { FastifyBaseLogger } from 'fastify'
import { channelOf } from '../events.js'
import { Renewed, since, unavailable, type Outcome } from '../http/renewed.js'
import { fetchKeySet, limits, readJwks, type IssuerKeys } from './keys.js'
import type { VerifySignature } from '../tokens/engine.js'
import type { ResolvedIssuer } from './options.js'
import type { IssuerStats } from '../../types/issuers.js'

interface KeySet extends IssuerKeys {
  readonly verify: VerifySignature
}

/**
 * Fetches and holds the keys of one issuer. A set is fresh for 10 minutes; in the last two, requests renew it in the
 * background. After that it is used only while fetches fail, and for an hour at most, since the issuer has to be able
 * to withdraw a key.
 */
export class KeySource extends Renewed<KeySet> {
  constructor(
    private readonly issuer: ResolvedIssuer,
    private readonly verifierOf: (keys: IssuerKeys) => VerifySignature,
    private readonly log: FastifyBaseLogger,
  ) {
    super(limits.fetchTime)
  }

  protected async fetch(signal: AbortSignal): Promise<KeySet> {
    return this.#read(await fetchKeySet(this.issuer, signal))
  }

  #read(document: unknown): KeySet {
    const keys = readJwks(document, this.issuer.algorithms)
    return { ...keys, verify: this.verifierOf(keys) }
  }

  /** Returns the verifier of the key set; null where the request has to wait for a newer one, by `obtain()`. */
  current(): VerifySignature | null {
    const set = this.#usable()
    if (set === null) return null
    const { age, failedAt } = this
    if (age >= limits.renew) void this.begin()
    return age < limits.fresh || since(failedAt) < limits.failing ? set.verify : null
  }

  #usable(): KeySet | null {
    if (this.age >= limits.fresh + limits.stale) this.document = null
    return this.document
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
   */
  renewed(): Promise<VerifySignature> | null {
    const running = this.isRunning || since(this.begunAt) >= limits.unknownKid ? this.begin() : null
    return running && this.#join(running)
  }

  /** For the test kit: uses a set that was not fetched, and that does not age. */
  replace(document: unknown): void {
    this.stop()
    this.reset(this.#read(document))
  }

  stats(): IssuerStats {
    const set = this.#usable()
    const age = set && Math.floor(this.age / 1000)
    return { keys: set?.keys.size ?? 0, ...this.counts, age }
  }

  async #join(running: Promise<void> | null): Promise<VerifySignature> {
    await running
    const verify = this.current()
    if (verify !== null) return verify
    const left = this.isRunning ? limits.fetchTime - since(this.begunAt) : this.pause
    throw unavailable('ERR_AUTH_ISSUER_UNAVAILABLE', left, 'no usable key set')
  }

  protected report({ outcome, reason, isBack, duration }: Outcome): void {
    const { name: issuer, registration = '' } = this.issuer
    const { keys, age } = this.stats()
    const found = reason === null ? this.document : null
    if (found !== null && found.compromised > 0) {
      const about = { issuer, keys: found.compromised }
      this.log.warn(about, 'An issuer publishes private keys; these are not used')
    }
    if (isBack) this.log.info({ issuer }, 'The keys of an issuer are back')
    if (this.isOpen && reason !== null) {
      this.log.warn({ issuer, reason, keys, age }, 'The keys of an issuer could not be fetched')
    }
    const leftOut = found?.leftOut ?? 0
    channelOf('issuer').publish({ registration, issuer, outcome, keys, leftOut, reason, duration })
  }
}
