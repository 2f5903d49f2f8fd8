import { timingSafeEqual } from 'node:crypto'
import * as Type from '@sinclair/typebox/type'
import { Check } from '@sinclair/typebox/value'
import { LRUCache } from 'lru-cache'
import { isUsableName } from '../users/user.js'
import { digestOf, idOf } from './key.js'
import type { StoreAccess } from '../stores/store-access.js'
import type { ApiKeyStore, RequestApiKey, StoredApiKey } from '../../types/api-keys.js'

/** A key that is neither unknown nor revoked; it may have expired. */
export interface KnownKey {
  /** The whole key. */
  readonly text: string
  /** `request.extra.apiKey`. */
  readonly shown: RequestApiKey
  readonly scopes: ReadonlySet<string>
  /** Seconds since 1970. */
  readonly expiresAt: number | null
}

/** Why a key is rejected, for the log. */
export type KeyProblem = 'unknown' | 'revoked' | 'wrong secret'

const time = Type.Union([Type.Number(), Type.Null()])
const storedKey = Type.Object({
  id: Type.String(),
  digest: Type.String(),
  owner: Type.String(),
  ownerType: Type.Union([Type.Literal('string'), Type.Literal('number')]),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  createdAt: Type.Number(),
  expiresAt: time,
  lastUsedAt: time,
  revokedAt: time,
  replacedBy: Type.Union([Type.String(), Type.Null()]),
})

/** Seconds between two updates of `lastUsedAt`. */
const touchEvery = 60

/** A call of the store, which all requests with one id share. */
interface Pending {
  readonly stored: Promise<StoredApiKey | null>
  readonly start: number
  /** Whether this process has changed the key since then. */
  isOutdated: boolean
}

/** Finds keys in a store, and reuses what it has found for a short time. */
export class KeyLookup {
  lookups = 0
  hits = 0
  readonly access: StoreAccess<ApiKeyStore>
  readonly #prefix: string
  readonly #cache: LRUCache<string, KnownKey> | null
  readonly #pending = new Map<string, Pending>()
  /** Keys whose last use was sent to the store within the last minute. */
  readonly #touched = new LRUCache<string, true>({ max: 10_000, ttl: touchEvery * 1000 })

  /** @param cache - at most `max` keys, each for `ttl` seconds; false: every request asks the store */
  constructor(
    access: StoreAccess<ApiKeyStore>,
    prefix: string,
    cache: { readonly max: number; readonly ttl: number } | false,
  ) {
    this.access = access
    this.#prefix = prefix
    this.#cache = cache ? new LRUCache({ max: cache.max, ttl: Math.ceil(cache.ttl * 1000) }) : null
  }

  get size(): number {
    return this.#cache?.size ?? 0
  }

  /** @returns null for a key that is not cached */
  cached(text: string): KnownKey | null {
    const known = this.#cache?.get(idOf(text, this.#prefix))
    if (known?.text !== text) return null
    this.hits += 1
    return known
  }

  /**
   * Asks the store, for a key whose form and checksum are right.
   *
   * @returns a problem, or the key and its last use
   * @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE
   */
  async find(text: string): Promise<KeyProblem | { known: KnownKey; lastUsedAt: number | null }> {
    const id = idOf(text, this.#prefix)
    let pending: Pending
    let stored: StoredApiKey | null
    do {
      pending = this.#pending.get(id) ?? this.#ask(id)
      stored = await pending.stored
    } while (pending.isOutdated)
    if (stored === null) return 'unknown'
    if (!equals(digestOf(text), stored.digest)) return 'wrong secret'
    if (stored.revokedAt !== null) return 'revoked'
    const known = knownKey(text, stored)
    // Its time in the cache begins before the look-up, so that a revocation takes effect in time.
    this.#cache?.set(id, known, { start: pending.start })
    return { known, lastUsedAt: stored.lastUsedAt }
  }

  /** Stores the last use of a key, at most once a minute. The request does not wait for it. */
  touch(id: string, lastUsedAt: number | null): void {
    const now = Date.now() / 1000
    if ((lastUsedAt !== null && now - lastUsedAt < touchEvery) || this.#touched.has(id)) return
    this.#touched.set(id, true)
    void this.access.ask((store) => store.touch(id, now)).catch(() => undefined)
  }

  /** To be called when this process has changed a key. */
  forget(id: string): void {
    this.#cache?.delete(id)
    const pending = this.#pending.get(id)
    if (pending !== undefined) pending.isOutdated = true
    this.#pending.delete(id)
  }

  #ask(id: string): Pending {
    this.lookups += 1
    const stored = this.access.ask(async (store) => wholeKey(await store.find(id), id))
    const pending = { stored, start: performance.now(), isOutdated: false }
    this.#pending.set(id, pending)
    const remove = (): void => {
      if (this.#pending.get(id) === pending) this.#pending.delete(id)
    }
    stored.then(remove, remove)
    return pending
  }
}

/** @throws Error where a store returns neither null nor a whole key, with this id if one is given */
export function wholeKey(found: unknown, id?: string): StoredApiKey | null {
  if (found === null) return null
  const isWhole = Check(storedKey, found) && isUsableName(ownerOf(found))
  if (isWhole && (id ?? found.id) === found.id) return found
  throw new TypeError('the store of API keys returned an incomplete key')
}

/** In constant time (CWE-208). */
function equals(digest: string, expected: string): boolean {
  const [one, other] = [Buffer.from(digest), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** The owner in the type in which it was given. */
export function ownerOf({ owner, ownerType }: StoredApiKey): string | number {
  return ownerType === 'number' ? Number(owner) : owner
}

function knownKey(text: string, stored: StoredApiKey): KnownKey {
  const { id, name, scopes, expiresAt } = stored
  const shown = { id, name, owner: ownerOf(stored), scopes: Object.freeze([...scopes]) }
  return { text, shown: Object.freeze(shown), scopes: new Set(scopes), expiresAt }
}
