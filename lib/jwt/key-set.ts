import { algorithmOf } from '../common/algorithms.js'
import { createEngine, type Engine, type Sign, type VerifySignature } from './engine.js'
import { keyFor, type KeyRing, type LoadedKey } from './keys/ring.js'
import { TokenMemory, type TokenCounts, type TokenMemoryOptions } from './remembered.js'
import type { SigningMethod } from '../../types/jwt.js'

export type KeyUse = 'sign' | 'verify'

/** How many tokens are remembered for each method; false for none. */
export type Remembering = TokenMemoryOptions | false

/** The keys of a service, with the engines that use them. A reload makes a new set. */
export class KeySet {
  readonly #ring: KeyRing
  readonly #remembering: Remembering
  readonly #counts: TokenCounts
  readonly #engines = new Map<SigningMethod, Engine>()
  readonly #verifiers = new Map<SigningMethod, VerifySignature>()
  readonly #memories: TokenMemory[] = []

  constructor(ring: KeyRing, remembering: Remembering, counts: TokenCounts) {
    this.#ring = ring
    this.#remembering = remembering
    this.#counts = counts
  }

  /** The key of the family of a method, if there is one. */
  key(method: SigningMethod): LoadedKey | undefined {
    return this.#ring[algorithmOf(method).family]
  }

  /**
   * Checks that the key fits the method, and makes the engine for both.
   *
   * @throws ERR_AUTH_KEY
   */
  prepare(method: SigningMethod, use: KeyUse, wanted: string): Engine {
    keyFor(this.#ring, method, use, wanted)
    let engine = this.#engines.get(method)
    if (engine === undefined) {
      engine = createEngine(this.key(method) as LoadedKey, method)
      this.#engines.set(method, engine)
    }
    return engine
  }

  /** @throws ERR_AUTH_KEY */
  signer(method: SigningMethod, wanted: string): Sign {
    return this.prepare(method, 'sign', wanted).sign
  }

  /**
   * A function that verifies signatures; with `rememberTokens` it remembers the tokens whose signature was good.
   *
   * @throws ERR_AUTH_KEY
   */
  verifier(method: SigningMethod, wanted: string): VerifySignature {
    const known = this.#verifiers.get(method)
    if (known !== undefined) return known
    const { verify } = this.prepare(method, 'verify', wanted)
    const verifier =
      this.#remembering === false ? verify : this.#remember(verify, this.#remembering)
    this.#verifiers.set(method, verifier)
    return verifier
  }

  /** How many tokens are remembered and the bytes that they take, of all methods together. */
  get tokens(): { size: number; bytes: number } {
    const sum = (of: (memory: TokenMemory) => number): number =>
      this.#memories.reduce((total, memory) => total + of(memory), 0)
    return { size: sum(({ size }) => size), bytes: sum(({ bytes }) => bytes) }
  }

  #remember(verify: VerifySignature, options: TokenMemoryOptions): VerifySignature {
    const memory = new TokenMemory(verify, options, this.#counts)
    this.#memories.push(memory)
    return (token) => memory.verify(token)
  }
}
