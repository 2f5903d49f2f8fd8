import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { Lookups } from '../throttle/lookups.js'
import { digestOf } from '../common/digest.js'
import { findKey, idOf } from './key.js'
import type { StoreClient } from '../stores/store-client.js'
import type { ApiKeyInfo, ApiKeyStore, RequestApiKey } from '../../types/api-keys.js'

/** A key that is neither unknown nor revoked; it may have expired. */
export interface KnownKey extends Pick<ApiKeyInfo, 'expiresAt' | 'lastUsedAt'> {
  readonly text: string
  readonly shown: RequestApiKey
  readonly scopes: ReadonlySet<string>
}

const oneMinute = 60_000

/** A call of the store that all requests with one id share. */
interface Pending {
  readonly answer: ReturnType<typeof findKey>
  readonly start: number
  /** True once this process has changed the key. */
  isOutdated: boolean
}

export type KeyLookup = ReturnType<typeof keyLookup>

/** Finds keys in a store. @param limits - for the cache: at most `max` keys, each for `ttl` seconds; false for none */
export function keyLookup(
  client: StoreClient<ApiKeyStore>,
  limits: Record<'max' | 'ttl', number> | false,
) {
  const { max, ttl } = limits || { max: 1, ttl: 1 }
  // By size: with `max` they allocate all entries at once, 4 ms of each startup.
  const sizeCalculation = () => 1
  const cache = new LRUCache<string, KnownKey>({
    maxSize: max,
    sizeCalculation,
    ttl: Math.ceil(ttl * 1000),
  })
  const pendings = new Map<string, Pending>()
  const lines = new Lookups()
  /** Keys whose last use was sent to the store within the last minute. */
  const touched = new LRUCache<string, true>({ maxSize: 10_000, sizeCalculation, ttl: oneMinute })
  let lookups = 0
  let hits = 0

  function ask(id: string): Pending {
    lookups += 1
    const answer = client.call((store) => findKey(store, id))
    const pending = { answer, start: performance.now(), isOutdated: false }
    pendings.set(id, pending)
    const remove = (): boolean => !pending.isOutdated && pendings.delete(id)
    answer.then(remove, remove)
    return pending
  }

  /** Finds a key with the right form and checksum. @throws (rejects) as {@link StoreClient} and {@link Lookups} do */
  async function find(
    text: string,
    request: FastifyRequest,
  ): Promise<KnownKey | 'unknown' | 'revoked' | 'wrong secret'> {
    const id = idOf(text)
    // Without a cache, only a look-up that begins after the request knows of all revocations before it.
    if (!limits) await pendings.get(id)?.answer.catch(() => null)
    const wait = async () => {
      const pending = pendings.get(id) ?? ask(id)
      return { pending, found: await pending.answer }
    }
    const { pending, found } = await (pendings.has(id) ? wait() : lines.run(request, wait))
    if (pending.isOutdated) return find(text, request)
    if (found === null) return 'unknown'
    const [digest, expected] = [Buffer.from(digestOf(text)), Buffer.from(found.digest)]
    // The comparison takes constant time (CWE-208).
    const isRight = digest.length === expected.length && timingSafeEqual(digest, expected)
    if (!isRight) return 'wrong secret'
    const { name, owner, expiresAt, lastUsedAt, revokedAt } = found
    if (revokedAt !== null) return 'revoked'
    const scopes = Object.freeze([...found.scopes])
    const shown = Object.freeze({ id, name, owner, scopes })
    const known = { text, shown, scopes: new Set(scopes), expiresAt, lastUsedAt }
    // The time in the cache begins before the look-up, so that a revocation takes effect in time.
    if (limits) cache.set(id, known, { start: pending.start })
    return known
  }

  return {
    cached(text: string): KnownKey | undefined {
      const known = cache.get(idOf(text))
      if (known?.text !== text) return undefined
      hits += 1
      return known
    },

    find,

    /** Stores the last use of a key, at most once a minute. The request does not wait for it. */
    touch({ shown: { id }, lastUsedAt }: KnownKey): void {
      const now = Date.now()
      if (now - Number(lastUsedAt) < oneMinute || touched.has(id)) return
      touched.set(id, true)
      void client.call((store) => store.touch(id, now / 1000)).catch(() => undefined)
    },

    forget(id: string): void {
      cache.delete(id)
      const pending = pendings.get(id)
      if (pending !== undefined) pending.isOutdated = true
      pendings.delete(id)
    },

    stats: () => ({ lookups, hits, size: cache.size, storeFailures: client.failures }),
  }
}
