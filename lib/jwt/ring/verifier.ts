import { invalidToken } from '../token-errors.js'
import { TokenMemory, type Remembering, type TokenCounts } from '../remembered.js'
import { keyNameOf } from './header.js'
import type { Engine, VerifiedToken, VerifySignature } from '../engine.js'
import type { RingKey } from './load.js'
import type { SigningMethod } from '../../../types/jwt.js'

/**
 * How long a key verifies. The remembered tokens of a key hold this object, so that they end with it; a reload that
 * keeps the key keeps the object.
 */
export interface KeyLife {
  readonly alg: SigningMethod
  /** Milliseconds since 1970; `Infinity` for ever, and 0 for a key that was taken out. */
  until: number
}

/** A key in use. */
export interface UsedKey extends RingKey {
  readonly engine: Engine
  life: KeyLife
}

/** A token whose signature is good, and whose key judged it. */
interface JudgedToken extends VerifiedToken {
  readonly life: KeyLife
}

/** How many headers are kept at most; beyond, the header of each token that is new is read. */
const mostHeaders = 100

/** Verifies signatures with the keys of a ring. There is one for a service: a reload gives it other keys. */
export class RingVerifier {
  readonly #memory: TokenMemory<JudgedToken> | null
  #byKid: ReadonlyMap<string, UsedKey> = new Map()
  #legacy: ReadonlyMap<unknown, UsedKey> = new Map()
  /** The keys of headers that good tokens had: those of one key are mostly alike, so that few have to be read. */
  readonly #known = new Map<string, UsedKey>()

  constructor(remembering: Remembering, counts: TokenCounts) {
    const judge = (token: string): JudgedToken => this.#judge(token)
    this.#memory = remembering === false ? null : new TokenMemory(judge, remembering, counts)
  }

  get tokens(): { size: number; bytes: number } {
    const { size = 0, bytes = 0 } = this.#memory ?? {}
    return { size, bytes }
  }

  /**
   * Puts other keys in force. Those that stay keep their remembered tokens; those that are gone verify nothing from now
   * on, and their tokens are forgotten.
   */
  use(keys: readonly UsedKey[]): void {
    const earlier = [...this.#byKid.values()]
    this.#known.clear()
    this.#byKid = new Map(keys.map((key) => [key.kid, key]))
    this.#legacy = new Map(keys.filter(({ isLegacy }) => isLegacy).map((key) => [key.alg, key]))
    for (const before of earlier) {
      const now = this.#byKid.get(before.kid)
      if (now !== undefined && stays(before, now)) {
        now.life = before.life
        now.life.until = now.until
      } else {
        before.life.until = 0
      }
    }
    // There may be many tokens: looked through only where a key is gone.
    if (earlier.some(({ life }) => life.until === 0)) {
      this.#memory?.forget(({ life }) => life.until === 0)
    }
  }

  /** @param method - the one that is accepted; undefined for those of all keys */
  verifier(method: SigningMethod | undefined): VerifySignature {
    const memory = this.#memory
    return (token) => {
      // The memory comes first: of a token that it knows, the header is not read.
      const judged = memory === null ? this.#judge(token) : memory.verify(token)
      const { life } = judged
      if (life.until !== Infinity) requireAlive(life)
      if (method !== undefined && life.alg !== method) throw invalidToken('alg')
      return judged
    }
  }

  #judge(token: string): JudgedToken {
    const header = token.slice(0, token.indexOf('.'))
    const known = this.#known.get(header)
    const key = known ?? this.#keyOf(header)
    requireAlive(key.life)
    const { claims, typ } = key.engine.verify(token)
    if (known === undefined && this.#known.size < mostHeaders) this.#known.set(copied(header), key)
    return { claims, typ, life: key.life }
  }

  /** The `kid` alone chooses the key, and the token's `alg` has to be that of the key (RFC 8725 §3.1). */
  #keyOf(header: string): UsedKey {
    const { alg, kid } = keyNameOf(header)
    const key = kid === undefined ? this.#legacy.get(alg) : this.#byKid.get(kid)
    if (key === undefined) throw invalidToken(kid === undefined ? 'no kid' : 'unknown kid')
    if (key.alg !== alg) throw invalidToken('alg of kid')
    return key
  }
}

/** A copy: a slice would keep the whole token in memory. */
function copied(text: string): string {
  return Buffer.from(text).toString()
}

/** Whether a key is the same as before a reload, and still judges all tokens that it judged then. */
function stays(before: UsedKey, now: UsedKey): boolean {
  return before.id === now.id && before.alg === now.alg && (now.isLegacy || !before.isLegacy)
}

/** @throws AuthenticationError */
function requireAlive({ until }: KeyLife): void {
  if (Date.now() >= until) throw invalidToken('key ended')
}
