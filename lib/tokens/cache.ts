import { LRUCache } from 'lru-cache'
import type { VerifiedToken } from './engine.js'

/** `maxBytes` counts the characters of all cached tokens. */
export interface TokenCacheLimits {
  readonly max: number
  readonly maxBytes: number
}

/** Counts of a service, which a reload of its keys does not reset. */
export interface TokenCounts {
  hits: number
  misses: number
}

/**
 * Node.js hashes 12 characters faster than a whole token; the end of a signature has 72 practically random bits. V8
 * copies a slice of this length, while a longer one would keep the whole header in memory.
 */
const keyLength = 12

/**
 * Caches tokens whose signature is valid. Nothing else is cached: purpose, times, issuer, audience and user are checked
 * at every request. Rejected tokens are not stored, so that they displace none.
 */
export class TokenCache<Verified extends VerifiedToken = VerifiedToken> {
  readonly #cached: LRUCache<string, { readonly token: string; readonly verified: Verified }>
  readonly #counts: TokenCounts

  constructor({ max, maxBytes }: TokenCacheLimits, counts: TokenCounts = { hits: 0, misses: 0 }) {
    this.#cached = new LRUCache({
      max,
      maxSize: maxBytes,
      sizeCalculation: ({ token }) => token.length,
    })
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

  /** @returns what it stores */
  set(token: string, verified: Verified): Verified {
    // A copy: a slice of a header would keep the whole header in memory.
    const copy = Buffer.from(token, 'latin1').toString('latin1')
    this.#cached.set(token.slice(-keyLength), { token: copy, verified })
    return verified
  }
}
