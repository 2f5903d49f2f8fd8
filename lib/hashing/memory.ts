import crypto from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { FastifyRequest } from 'fastify'
import { ABANDONED, isGone } from '../client.js'
import { isAuthenticationError } from '../errors.js'
import { hashLength } from './shape.js'

export interface MemoryOptions {
  /** How many credentials are remembered. */
  readonly max: number
  /** How long, in seconds. */
  readonly ttl: number
}

type Digest = (algorithm: string, text: string, encoding: 'base64') => string

/** In one call where Node.js has it (20.12 and later), which takes half of the time. */
export function digestBy(oneCall: Digest | undefined): Digest {
  return (
    oneCall ??
    ((algorithm, text, encoding) => crypto.createHash(algorithm).update(text).digest(encoding))
  )
}

const digest = digestBy(crypto.hash)

/**
 * A digest under a key: SHA-256 over the key and the text. HMAC (RFC 2104) would hash twice, to keep those who
 * see a digest from extending the text; these digests are seen by nobody.
 *
 * @param key - random, of a fixed length. Of 24 characters, 144 bits: SHA-256 works in blocks of 64 bytes, and
 * with such a key a hash of bcrypt and a password of up to 35 bytes fit in two of them
 */
export function keyedDigest(key: string): (text: string) => string {
  return (text) => digest('sha256', key + text, 'base64')
}

/**
 * Remembers which password matched which hash, so that Basic, which sends the password with every
 * request, costs bcrypt once a minute and not 50 ms a request. Its keys are digests under a random key of
 * this process: nothing in it can be turned back into a password. A failure is never remembered, and a
 * hash that has changed is another key.
 */
export class CredentialMemory {
  readonly #keyOf = keyedDigest(crypto.randomBytes(18).toString('base64'))
  /** Until when, on the clock of `performance`: the cache's own expiry starts timers. */
  readonly #known: LRUCache<string, number>
  readonly #ttl: number
  readonly #flights = new Map<string, Promise<boolean>>()
  #hits = 0
  #misses = 0

  constructor({ max, ttl }: MemoryOptions) {
    this.#known = new LRUCache({ max })
    this.#ttl = ttl * 1000
  }

  /** Counts, for `app.authn.stats()`. */
  get stats(): { hits: number; misses: number; size: number } {
    return { hits: this.#hits, misses: this.#misses, size: this.#known.size }
  }

  /** Whether a password is remembered to match what is stored. */
  knows(password: string, stored: string): boolean {
    // What is no hash was never remembered; of 60 letters, since the password follows without a mark.
    if (stored.length !== hashLength) return false
    const known = this.#isKnown(this.#keyOf(stored + password))
    if (known) this.#hits += 1
    return known
  }

  /**
   * Whether a password matches a hash. Requests that ask the same at the same time share one run.
   *
   * @param compare - what to do when it is not remembered
   */
  matches(
    password: string,
    hash: string,
    request: FastifyRequest,
    compare: () => Promise<boolean>,
  ): true | Promise<boolean> {
    const key = this.#keyOf(hash + password)
    if (this.#isKnown(key)) {
      this.#hits += 1
      return true
    }
    this.#known.delete(key)
    this.#misses += 1
    return this.#compare(key, request, compare)
  }

  #isKnown(key: string): boolean {
    const until = this.#known.get(key)
    return until !== undefined && performance.now() < until
  }

  async #compare(
    key: string,
    request: FastifyRequest,
    compare: () => Promise<boolean>,
  ): Promise<boolean> {
    const running = this.#flights.get(key)
    if (running === undefined) return this.#fly(key, compare)
    try {
      return await running
    } catch (error) {
      // The one that it was run for has gone away, or was refused: that says nothing of the others.
      const isTheirs = error === ABANDONED || isAuthenticationError(error)
      if (isTheirs && !isGone(request)) return this.#compare(key, request, compare)
      throw error
    }
  }

  async #fly(key: string, compare: () => Promise<boolean>): Promise<boolean> {
    const flight = compare()
    this.#flights.set(key, flight)
    try {
      const matches = await flight
      if (matches) this.#known.set(key, performance.now() + this.#ttl)
      return matches
    } finally {
      this.#flights.delete(key)
    }
  }
}
