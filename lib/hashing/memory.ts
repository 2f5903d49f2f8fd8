import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { FastifyRequest } from 'fastify'
import { ABANDONED, isGone } from '../client.js'
import { isAuthenticationError } from '../errors.js'

export interface MemoryOptions {
  /** How many credentials are remembered. */
  readonly max: number
  /** How long, in seconds. */
  readonly ttl: number
}

/**
 * Remembers which password matched which hash, so that Basic, which sends the password with every
 * request, costs bcrypt once a minute and not 50 ms a request. Its keys are HMACs under a random key of
 * this process: nothing in it can be turned back into a password. A failure is never remembered, and a
 * hash that has changed is another key.
 */
export class CredentialMemory {
  readonly #key = randomBytes(32)
  readonly #known: LRUCache<string, true>
  readonly #flights = new Map<string, Promise<boolean>>()
  #hits = 0
  #misses = 0

  constructor({ max, ttl }: MemoryOptions) {
    this.#known = new LRUCache({ max, ttl: ttl * 1000 })
  }

  /** Counts, for `app.authn.stats()`. */
  get stats(): { hits: number; misses: number; size: number } {
    return { hits: this.#hits, misses: this.#misses, size: this.#known.size }
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
    const key = createHmac('sha256', this.#key).update(hash).update(password).digest('base64')
    if (this.#known.get(key) === true) {
      this.#hits += 1
      return true
    }
    this.#misses += 1
    return this.#compare(key, request, compare)
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
      if (matches) this.#known.set(key, true)
      return matches
    } finally {
      this.#flights.delete(key)
    }
  }
}
