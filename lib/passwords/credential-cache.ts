import { createHash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { isAuthenticationError } from '../errors/errors.js'
import { nfcOf } from './nfc.js'
import type { FastifyRequest } from 'fastify'
import type { AcceptedPasswords } from '../throttle/attempt.js'

interface Credentials {
  readonly username: string
  readonly password: string
  readonly request: FastifyRequest
}

/**
 * Caches which password matched which hash. Basic sends the password with every request; without this cache each would
 * take 50 ms of bcrypt. The keys are digests with a random secret of this process. Failures are not cached.
 */
export class CredentialCache implements AcceptedPasswords {
  readonly #secret = randomBytes(32).toString('base64')
  readonly #known: LRUCache<string, true>
  readonly #accepted: LRUCache<string, string>
  readonly #running = new Map<string, Promise<string | null>>()
  readonly #counts = { hits: 0, misses: 0 }

  /** @param options - `ttl` in seconds */
  constructor({ max, ttl }: { readonly max: number; readonly ttl: number }) {
    // `maxSize` limits the entries, since `max` would allocate all of them at once. A resolution of 0 starts no timers.
    const sizes = { maxSize: max, sizeCalculation: () => 1 }
    const options = { ...sizes, ttl: Math.ceil(ttl * 1000), ttlResolution: 0 }
    this.#known = new LRUCache(options)
    this.#accepted = new LRUCache(options)
  }

  get stats(): { hits: number; misses: number; size: number } {
    return { ...this.#counts, size: this.#known.size }
  }

  accept(who: string, password: string): void {
    this.#accepted.set(who, this.#digest(who, '', nfcOf(password)))
  }

  accepts(who: string, password: string): boolean | null {
    const accepted = this.#accepted.get(who)
    return accepted === undefined ? null : accepted === this.#digest(who, '', nfcOf(password))
  }

  knows(username: string, password: string, stored: string): boolean {
    const isKnown = this.#known.get(this.#digest(username, stored, password)) === true
    if (isKnown) this.#counts.hits += 1
    return isKnown
  }

  /**
   * Simultaneous requests with the same credentials share one comparison. Other spellings of the username do not, since
   * the time would then tell which users exist.
   */
  async share(
    { username, password, request }: Credentials,
    stored: string,
    compare: () => Promise<string | null>,
  ): Promise<string | null> {
    this.#counts.misses += 1
    const key = this.#digest(username, stored, password)
    for (;;) {
      const running = this.#running.get(key)
      if (running === undefined) {
        const own = compare().finally(() => this.#running.delete(key))
        this.#running.set(key, own)
        if ((await own) !== null) this.#known.set(key, true)
        return own
      }
      try {
        return await running
      } catch (error) {
        // If the request that began the comparison was abandoned or rejected, this one tries again.
        const isTheirs = error === ABANDONED || isAuthenticationError(error)
        if (!isTheirs || isGone(request)) throw error
      }
    }
  }

  /** The lengths keep different credentials apart. The digest never leaves the process, so it needs no HMAC. */
  #digest(name: string, stored: string, password: string): string {
    const text = `${this.#secret}${name.length}:${name}${stored.length}:${stored}${password}`
    return createHash('sha256').update(text).digest('base64')
  }
}
