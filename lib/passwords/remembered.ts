import * as crypto from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { FastifyRequest } from 'fastify'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { isAuthenticationError } from '../errors.js'

/** Node.js has it since version 20.12. It takes half the time of `createHash`: 0.6 µs of each request with Basic. */
const { hash } = crypto as { hash?: typeof crypto.hash }

export interface MemoryOptions {
  /** How many credentials are remembered. */
  readonly max: number
  /** How long, in seconds. */
  readonly ttl: number
}

/** The credentials of one request. */
export interface Asked {
  /** As the client has sent it. */
  readonly username: string
  readonly password: string
  readonly request: FastifyRequest
}

/**
 * Remembers which password matched which hash. Basic sends the password with every request; without this memory
 * each would take 50 ms of bcrypt. The keys are digests under a random key of this process, which cannot be turned
 * back into a password. Failures are not remembered. A changed hash gives another key.
 */
export class CredentialMemory {
  readonly #secret = crypto.randomBytes(32).toString('base64')
  readonly #known: LRUCache<string, true>
  readonly #flights = new Map<string, Promise<boolean>>()
  #hits = 0
  #misses = 0

  constructor({ max, ttl }: MemoryOptions) {
    // With a resolution of 0 it starts no timers.
    this.#known = new LRUCache({ max, ttl: Math.ceil(ttl * 1000), ttlResolution: 0 })
  }

  /** Counts, for `app.authn.stats()`. */
  get stats(): { hits: number; misses: number; size: number } {
    return { hits: this.#hits, misses: this.#misses, size: this.#known.size }
  }

  /** Whether a password is remembered to match what is stored for a username. */
  knows(username: string, password: string, stored: string): boolean {
    const isKnown = this.#known.get(this.#keyOf(username, password, stored)) === true
    if (isKnown) this.#hits += 1
    return isKnown
  }

  /**
   * Compares a password that is not remembered. Simultaneous requests with the same credentials share one bcrypt run.
   * Other spellings of the username do not share it: known users would then take less time than unknown ones, which
   * would tell who exists.
   *
   * @param compare - runs bcrypt; a match is remembered
   */
  share(
    { username, password, request }: Asked,
    hash: string,
    compare: () => Promise<boolean>,
  ): Promise<boolean> {
    this.#misses += 1
    return this.#compare(this.#keyOf(username, password, hash), request, compare)
  }

  /**
   * SHA-256 over the secret and the parts, each with its length before it, so that no two credentials have one
   * key. Not HMAC (RFC 2104), which takes 14 µs here and keeps those who see a digest from extending its
   * text: these digests are seen by nobody.
   */
  #keyOf(username: string, password: string, hash: string): string {
    const parts = `${username.length}:${username}${hash.length}:${hash}${password}`
    return sha256(this.#secret + parts)
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
      // The request that started the run was aborted or refused, which says nothing of the others.
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

function sha256(text: string): string {
  return (
    hash?.('sha256', text, 'base64') ?? crypto.createHash('sha256').update(text).digest('base64')
  )
}
