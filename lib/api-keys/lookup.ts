import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { isUsableName } from '../users/user.js'
import { digestOf, idOf } from './key.js'
import type { StoreAccess } from '../stores/store-access.js'
import type { ApiKeyStore, RequestApiKey, StoredApiKey } from '../../types/api-keys.js'

/** A key that is neither unknown nor revoked; it may have expired. */
export interface KnownKey extends Pick<StoredApiKey, 'expiresAt' | 'lastUsedAt'> {
  /** The whole key. */
  readonly text: string
  /** `request.extra.apiKey`. */
  readonly shown: RequestApiKey
  readonly scopes: ReadonlySet<string>
}

/** Why a key is rejected, for the log. */
export type KeyProblem = 'unknown' | 'revoked' | 'wrong secret'

/** Seconds between two updates of `lastUsedAt`. */
const touchEvery = 60

/** A call of the store, which all requests with one id share. */
interface Pending {
  readonly stored: Promise<StoredApiKey | null>
  readonly start: number
  /** Whether this process has changed the key since then. */
  isOutdated: boolean
}

export type KeyLookup = ReturnType<typeof keyLookup>

/**
 * Finds keys in a store, and reuses what it has found for a short time.
 *
 * @param limits - at most `max` keys, each for `ttl` seconds; false: every request asks the store
 */
export function keyLookup(
  access: StoreAccess<ApiKeyStore>,
  limits: Record<'max' | 'ttl', number> | false,
) {
  const cache =
    limits && new LRUCache<string, KnownKey>({ max: limits.max, ttl: Math.ceil(limits.ttl * 1000) })
  const pendings = new Map<string, Pending>()
  /** Keys whose last use was sent to the store within the last minute. */
  const touched = new LRUCache<string, true>({ max: 10_000, ttl: touchEvery * 1000 })
  let lookups = 0
  let hits = 0

  function ask(id: string): Pending {
    lookups += 1
    const stored = access.ask(async (store) => wholeKey(await store.find(id), id))
    const pending = { stored, start: performance.now(), isOutdated: false }
    pendings.set(id, pending)
    const remove = (): void => {
      if (!pending.isOutdated) pendings.delete(id)
    }
    stored.then(remove, remove)
    return pending
  }

  return {
    /** @returns null for a key that is not cached */
    cached(text: string): KnownKey | null {
      const known = cache && cache.get(idOf(text))
      if (!known || known.text !== text) return null
      hits += 1
      return known
    },

    /** Asks the store, for a key whose form and checksum are right. @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE */
    async find(text: string): Promise<KeyProblem | KnownKey> {
      const id = idOf(text)
      let pending: Pending
      let stored: StoredApiKey | null
      do {
        pending = pendings.get(id) ?? ask(id)
        stored = await pending.stored
      } while (pending.isOutdated)
      if (stored === null) return 'unknown'
      // In constant time (CWE-208).
      const [digest, expected] = [Buffer.from(digestOf(text)), Buffer.from(stored.digest)]
      const isRight = digest.length === expected.length && timingSafeEqual(digest, expected)
      if (!isRight) return 'wrong secret'
      const { name, expiresAt, lastUsedAt, revokedAt } = stored
      if (revokedAt !== null) return 'revoked'
      const scopes = Object.freeze([...stored.scopes])
      const shown = Object.freeze({ id, name, owner: ownerOf(stored), scopes })
      const known = { text, shown, scopes: new Set(scopes), expiresAt, lastUsedAt }
      // Its time in the cache begins before the look-up, so that a revocation takes effect in time.
      if (cache) cache.set(id, known, { start: pending.start })
      return known
    },

    /** Stores the last use of a key, at most once a minute. The request does not wait for it. */
    touch({ shown: { id }, lastUsedAt }: KnownKey): void {
      const now = Date.now() / 1000
      if (now - Number(lastUsedAt) < touchEvery || touched.has(id)) return
      touched.set(id, true)
      void access.ask((store) => store.touch(id, now)).catch(() => undefined)
    },

    /** To be called when this process has changed a key. */
    forget(id: string): void {
      if (cache) cache.delete(id)
      const pending = pendings.get(id)
      if (pending !== undefined) pending.isOutdated = true
      pendings.delete(id)
    },

    stats: () => ({ lookups, hits, size: cache ? cache.size : 0, storeFailures: access.failures }),
  }
}

const texts = ['digest', 'owner', 'ownerType', 'name'] as const
const times = ['createdAt', 'expiresAt', 'lastUsedAt', 'revokedAt'] as const

/** @throws Error for a key that a store did not return whole: without `expiresAt`, it would never expire */
export function wholeKey(found: StoredApiKey | null, id: string): StoredApiKey | null {
  if (found === null) return null
  const isWhole =
    found.id === id &&
    texts.every((name) => typeof found[name] === 'string') &&
    times.every((name) => found[name] === null || Number.isFinite(found[name])) &&
    Array.isArray(found.scopes) &&
    found.replacedBy !== undefined &&
    isUsableName(ownerOf(found))
  if (isWhole) return found
  throw new TypeError('the store of API keys returned an incomplete key')
}

/** The owner in the type in which it was given. */
export function ownerOf({ owner, ownerType }: StoredApiKey): string | number {
  return ownerType === 'number' ? Number(owner) : owner
}
