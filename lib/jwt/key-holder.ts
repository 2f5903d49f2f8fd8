import { AuthnUsageError } from '../errors.js'
import type { Sign, VerifySignature } from './engine.js'
import type { LoadedKey } from './keys/ring.js'
import type { KeyStats, PublicJwk, SigningMethod } from '../../types/keys.js'

export type KeyUse = 'sign' | 'verify'

/** A key with the one method that it is used with here. */
export interface HeldKey {
  readonly method: SigningMethod
  /** Its name in the header of its tokens; undefined for a key that has none. */
  readonly kid: string | undefined
  readonly key: LoadedKey
}

/**
 * The keys of a service with the engines that use them: one key for each family, or a ring. A reload makes a new
 * object. Where a method is left out, that of the configuration counts for signing; for verifying too, unless there is
 * a ring, of which every key verifies.
 */
export interface KeysInForce {
  /** The method of tokens that are signed without naming one; undefined where no key signs. */
  readonly signingMethod: SigningMethod | undefined
  /** How many keys there are. */
  readonly size: number
  /** How many tokens are remembered and the bytes that they take. */
  readonly tokens: { readonly size: number; readonly bytes: number }

  /** The keys for a method, those that sign first; default: all that verify where no method is named. */
  keysOf(method?: SigningMethod): readonly HeldKey[]

  /** Whether there is a key for a use. */
  has(method: SigningMethod | undefined, use: KeyUse): boolean

  /**
   * Checks that there is a key for a use, and makes what is needed for that.
   *
   * @param wanted - who needs it, for the error
   * @throws ERR_AUTH_KEY
   */
  prepare(method: SigningMethod | undefined, use: KeyUse, wanted: string): void

  /** @throws ERR_AUTH_KEY */
  signer(method: SigningMethod | undefined, wanted: string): Sign

  /**
   * A function that verifies signatures; with `rememberTokens` it remembers the tokens whose signature was good.
   *
   * @throws ERR_AUTH_KEY
   */
  verifier(method: SigningMethod | undefined, wanted: string): VerifySignature

  /** The public halves that are in force, as JSON Web Keys; none for keys that are no ring. */
  published?(): readonly PublicJwk[]

  /** Called when these keys come into force. Until then they must not change anything. */
  begin?(): void
}

interface Need {
  readonly method: SigningMethod | undefined
  readonly use: KeyUse
  readonly wanted: string
}

/** Holds the keys that are in force, and exchanges all of them at once or none. */
export class KeyHolder {
  readonly #read: () => Promise<KeysInForce>
  readonly #needs = new Map<string, Need>()
  #turn = 0
  #currentTurn = 0
  #keys: KeysInForce | undefined
  #loading: Promise<unknown> | undefined
  #reloads = 0
  #failures = 0

  /**
   * @param read - reads all keys
   * @param keys - those that are there already, where none has to be read
   */
  constructor(read: () => Promise<KeysInForce>, keys: KeysInForce | undefined) {
    this.#read = read
    this.#keys = keys
  }

  /** @throws ERR_AUTH_KEY before the keys are read */
  get current(): KeysInForce {
    if (this.#keys !== undefined) return this.#keys
    throw new AuthnUsageError(
      'ERR_AUTH_KEY',
      'the key files of this JwtService are not read yet. Await its load() before it is used.',
    )
  }

  get tokens(): KeysInForce['tokens'] {
    return this.#keys?.tokens ?? { size: 0, bytes: 0 }
  }

  get stats(): KeyStats {
    return { size: this.#keys?.size ?? 0, reloads: this.#reloads, failures: this.#failures }
  }

  /** Reads the keys, unless they are there. A failure is not kept: the next call reads them again. */
  load(): Promise<unknown> {
    this.#loading ??= this.#keys === undefined ? this.#exchange() : Promise.resolve()
    this.#loading.catch(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  /** Reads the keys again, and counts it. */
  async reload(): Promise<void> {
    const isFirst = this.#keys === undefined
    try {
      await this.#exchange()
    } catch (error) {
      this.#failures += 1
      throw error
    }
    if (!isFirst) this.#reloads += 1
  }

  /** Makes sure that there is a key for a use, now and after every reload. */
  require(method: SigningMethod | undefined, use: KeyUse, wanted: string): void {
    this.current.prepare(method, use, wanted)
    this.#needs.set(`${method} ${use} ${wanted}`, { method, use, wanted })
  }

  async #exchange(): Promise<void> {
    this.#turn += 1
    const turn = this.#turn
    const keys = await this.#read()
    for (const { method, use, wanted } of this.#needs.values()) keys.prepare(method, use, wanted)
    // When two reloads run at the same time, the one that was started last wins, whichever ends first.
    if (turn < this.#currentTurn) return
    this.#currentTurn = turn
    keys.begin?.()
    this.#keys = keys
  }
}
