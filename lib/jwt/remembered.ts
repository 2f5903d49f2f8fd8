import { LRUCache } from 'lru-cache'
import type { VerifiedToken } from './engine.js'

/** How many tokens are remembered. */
export interface TokenMemoryOptions {
  /** The highest number of tokens. */
  readonly max: number
  /** How many bytes all of them together may take, by the estimate of {@link sizeOf}. */
  readonly maxBytes: number
}

/** Counts of a service: of all its methods together. They go on when the keys are reloaded. */
export interface TokenCounts {
  hits: number
  misses: number
}

/** How many tokens are remembered; false for none. */
export type Remembering = TokenMemoryOptions | false

type Remembered<Verified> = Verified & { readonly token: string }

/**
 * A token is looked up by the last 12 characters of its signature: 72 bits, practically random. To look up the whole
 * token takes longer, since Node.js has to hash all of it. And V8 copies a slice of up to 12 characters, while
 * a longer slice would keep the whole header in memory.
 */
const keyLength = 12

/** When the budget is spent, one of this many tokens is still stored. */
const sparing = 16

/**
 * Remembers tokens whose signature was good, with their claims and their purpose, so that the signature is verified
 * once. Only that is remembered: purpose, times, issuer, audience and user are checked on every request. There is one memory for each key
 * and method, and one for a whole ring of keys. A token is looked up by the end of its signature, and then the whole text is compared. Refused tokens
 * are not stored, so an attacker who sends many of them cannot push out good ones.
 *
 * When far more tokens are in use than there is room for, each is dropped before it comes again, and storing it
 * was wasted work. So there is a budget: each token that is stored takes one from it, each token that is found
 * adds one. When it is spent, one token in 16 is stored. The row "100,000 tokens in rotation" of `npm run bench`
 * shows what that brings: without the budget a request takes 2 to 3 % longer.
 */
export class TokenMemory<Verified extends VerifiedToken = VerifiedToken> {
  readonly #known: LRUCache<string, Remembered<Verified>>
  readonly #most: number
  readonly #counts: TokenCounts
  readonly #verify: (token: string) => Verified
  /** How many tokens may still be stored; at first, and at most, enough to fill the memory twice. */
  #budget: number
  #passed = 0

  constructor(
    verify: (token: string) => Verified,
    { max, maxBytes }: TokenMemoryOptions,
    counts: TokenCounts = { hits: 0, misses: 0 },
  ) {
    this.#known = new LRUCache<string, Remembered<Verified>>({
      max,
      maxSize: maxBytes,
      sizeCalculation: (remembered) => sizeOf(remembered),
    })
    this.#most = 2 * max
    this.#budget = this.#most
    this.#counts = counts
    this.#verify = verify
  }

  get size(): number {
    return this.#known.size
  }

  get bytes(): number {
    return this.#known.calculatedSize
  }

  /** Returns what is remembered of a token, or verifies it. */
  verify(token: string): Verified {
    const end = token.slice(-keyLength)
    const found = this.#known.get(end)
    if (found !== undefined && found.token === token) {
      this.#counts.hits += 1
      if (this.#budget < this.#most) this.#budget += 1
      return found
    }
    this.#counts.misses += 1
    const verified = this.#verify(token)
    if (this.#mayStore()) {
      // Stored as a copy: a slice of the header would keep the whole header in memory.
      this.#known.set(end, { token: Buffer.from(token).toString(), ...verified })
    }
    return verified
  }

  /** Forgets the tokens for which a function returns true. */
  forget(isOver: (verified: Verified) => boolean): void {
    for (const [end, remembered] of this.#known.entries()) {
      if (isOver(remembered)) this.#known.delete(end)
    }
  }

  #mayStore(): boolean {
    if (this.#budget === 0) return (this.#passed += 1) % sparing === 0
    this.#budget -= 1
    return true
  }
}

/** Estimates the bytes that a remembered token takes on the heap: about 600 for one of 250 characters with 5 claims. */
function sizeOf({ token, claims, typ }: Remembered<VerifiedToken>): number {
  let size = 128 + token.length + (typ?.length ?? 0)
  const found: object[] = [claims]
  // The loop also visits what is added to the array while it runs. A recursion could overflow the stack.
  for (const object of found) {
    const values: unknown[] = Object.values(object)
    size += 64 + 32 * values.length
    for (const value of values) {
      if (typeof value === 'object' && value !== null) found.push(value)
    }
  }
  return size
}
