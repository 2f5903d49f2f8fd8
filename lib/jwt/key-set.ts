import { algorithmOf } from '../common/algorithms.js'
import { createEngine, type Engine, type Sign, type VerifySignature } from './engine.js'
import { keyFor, type FamilyKeys, type LoadedKey } from './keys/ring.js'
import {
  TokenMemory,
  type Remembering,
  type TokenCounts,
  type TokenMemoryOptions,
} from './remembered.js'
import type { HeldKey, KeysInForce, KeyUse } from './key-holder.js'
import type { SigningMethod } from '../../types/jwt.js'

/** One key for each family of methods, with the engines that use them. A reload makes a new set. */
export class KeySet implements KeysInForce {
  readonly signingMethod: SigningMethod
  readonly #ring: FamilyKeys
  readonly #remembering: Remembering
  readonly #counts: TokenCounts
  readonly #engines = new Map<SigningMethod, Engine>()
  readonly #verifiers = new Map<SigningMethod, VerifySignature>()
  readonly #memories: TokenMemory[] = []

  /** @param signingMethod - the method of what names none */
  constructor(
    ring: FamilyKeys,
    signingMethod: SigningMethod,
    remembering: Remembering,
    counts: TokenCounts,
  ) {
    this.#ring = ring
    this.signingMethod = signingMethod
    this.#remembering = remembering
    this.#counts = counts
  }

  get size(): number {
    return Object.keys(this.#ring).length
  }

  keysOf(method = this.signingMethod): HeldKey[] {
    const key = this.#key(method)
    return key === undefined ? [] : [{ method, kid: undefined, key }]
  }

  has(method: SigningMethod | undefined, use: KeyUse): boolean {
    return this.keysOf(method).some(({ key }) => key[use] !== undefined)
  }

  prepare(method: SigningMethod | undefined, use: KeyUse, wanted: string): void {
    this.#engine(method, use, wanted)
  }

  signer(method: SigningMethod | undefined, wanted: string): Sign {
    return this.#engine(method, 'sign', wanted).sign
  }

  verifier(method: SigningMethod = this.signingMethod, wanted: string): VerifySignature {
    const known = this.#verifiers.get(method)
    if (known !== undefined) return known
    const { verify } = this.#engine(method, 'verify', wanted)
    const verifier =
      this.#remembering === false ? verify : this.#remember(verify, this.#remembering)
    this.#verifiers.set(method, verifier)
    return verifier
  }

  get tokens(): { size: number; bytes: number } {
    const sum = (of: (memory: TokenMemory) => number): number =>
      this.#memories.reduce((total, memory) => total + of(memory), 0)
    return { size: sum(({ size }) => size), bytes: sum(({ bytes }) => bytes) }
  }

  /** The key of the family of a method, if there is one. */
  #key(method: SigningMethod): LoadedKey | undefined {
    return this.#ring[algorithmOf(method).family]
  }

  /** The engine of a method, after a check that the key fits. */
  #engine(method: SigningMethod = this.signingMethod, use: KeyUse, wanted: string): Engine {
    keyFor(this.#ring, method, use, wanted)
    let engine = this.#engines.get(method)
    if (engine === undefined) {
      engine = createEngine(this.#key(method) as LoadedKey, method)
      this.#engines.set(method, engine)
    }
    return engine
  }

  #remember(verify: VerifySignature, options: TokenMemoryOptions): VerifySignature {
    const memory = new TokenMemory(verify, options, this.#counts)
    this.#memories.push(memory)
    return (token) => memory.verify(token)
  }
}
