import { LRUCache } from 'lru-cache'
import type { defaults } from '../options/defaults.js'
import type { VerifiedToken } from './engine.js'

export type TokenCacheLimits = typeof defaults.tokenCache

export interface TokenCounts {
  hits: number
  misses: number
}

/** The end of a signature: 72 random bits, hashed faster than a whole token. V8 copies slices of up to this length. */
const keyLength = 12

/**
 * Caches tokens whose signature is valid. Nothing else is cached: purpose, times, issuer, audience and user are checked
 * at every request. Rejected tokens are not stored, so that they displace none.
 */
export class TokenCache<Verified extends VerifiedToken = VerifiedToken> {
  readonly #cached: LRUCache<string, { token: string; verified: Verified }>
  readonly #max: number
  readonly #counts: TokenCounts

  constructor({ max, maxBytes }: TokenCacheLimits, counts: TokenCounts = { hits: 0, misses: 0 }) {
    this.#max = max
    // `max` is not set: it would allocate all entries at once, which takes 10 ms of startup for 50,000.
    this.#cached = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ token }) => token.length })
    this.#counts = counts
  }

  get size(): number {
    return this.#cached.size
  }

  get bytes(): number {
    return this.#cached.calculatedSize
  }

  get(token: string): Verified | undefined {
    const cached = this.#cached.get(token.slice(-keyLength))
    if (cached === undefined || cached.token !== token) {
      this.#counts.misses += 1
      return undefined
    }
    this.#counts.hits += 1
    return cached.verified
  }

  set(token: string, verified: Verified): Verified {
    if (this.#cached.size >= this.#max) this.#cached.pop()
    // The token is copied: a slice of a header would keep the whole header in memory.
    const copy = Buffer.from(token, 'latin1').toString('latin1')
    this.#cached.set(token.slice(-keyLength), { token: copy, verified })
    return verified
  }
}
