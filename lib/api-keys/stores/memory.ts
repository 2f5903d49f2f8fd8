import { checkStorePrefix } from '../../stores/redis.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/** Seconds for which keys that have expired or are revoked are kept, and how many each `create` deletes. */
const kept = 2_592_000
const batch = 100

/**
 * Keeps API keys in the memory of this process, for development and tests: a restart invalidates all of them.
 *
 * @param options - `prefix`: the name of the app
 * @throws ERR_AUTH_OPTION for a prefix that does not fit
 */
export function memoryApiKeys(options: { readonly prefix: string }): ApiKeyStoreFactory {
  const prefix = checkStorePrefix(options?.prefix, 'memoryApiKeys({ prefix })')
  const stores = new Map<string, ApiKeyStore>()
  return {
    prefix,
    isLocal: true,
    open(name) {
      const store = stores.get(name) ?? memoryStore()
      stores.set(name, store)
      return store
    },
  }
}

/** Its methods are atomic, because they await nothing. */
function memoryStore(): ApiKeyStore {
  const keys = new Map<string, StoredApiKey>()
  const hasExpired = (time: number | null, now: number): boolean => time !== null && time <= now
  /** Changes the key of an owner, if it has not been changed so before. */
  const change = (
    id: string,
    owner: string | undefined,
    changes: (key: StoredApiKey) => Partial<StoredApiKey> | null,
  ): boolean => {
    const key = keys.get(id)
    if (key === undefined || (owner !== undefined && key.owner !== owner)) return false
    const changed = changes(key)
    if (changed !== null) keys.set(id, { ...key, ...changed })
    return changed !== null
  }
  return {
    async create(key) {
      if (keys.has(key.id)) throw new Error('there is an API key with this id')
      keys.set(key.id, key)
      const latest = key.createdAt - kept
      const old = [...keys.values()].filter(
        ({ expiresAt, revokedAt }) =>
          hasExpired(expiresAt, latest) || hasExpired(revokedAt, latest),
      )
      for (const { id } of old.slice(0, batch)) keys.delete(id)
    },
    find: async (id) => keys.get(id) ?? null,
    list: async (owner) => [...keys.values()].filter((key) => key.owner === owner).toReversed(),
    async touch(id, at) {
      change(id, undefined, ({ lastUsedAt }) =>
        lastUsedAt === null || lastUsedAt + 60 <= at ? { lastUsedAt: at } : null,
      )
    },
    revoke: async (id, at, owner) =>
      change(id, owner, ({ revokedAt }) => (revokedAt === null ? { revokedAt: at } : null)),
    async replace(id, next, until, owner) {
      const isDone = change(id, owner, ({ revokedAt, replacedBy, expiresAt }) =>
        revokedAt !== null || replacedBy !== null || hasExpired(expiresAt, next.createdAt)
          ? null
          : { replacedBy: next.id, expiresAt: Math.min(expiresAt ?? until, until) },
      )
      if (isDone) keys.set(next.id, next)
      return isDone
    },
  }
}
