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

const isOver = (time: number | null, now: number): boolean => time !== null && time <= now

/** Its methods are atomic, because they await nothing. */
function memoryStore(): ApiKeyStore {
  const keys = new Map<string, StoredApiKey>()
  /** The key with an id, if it is one of this owner, where one is given. */
  const find = (id: string, owner?: string): StoredApiKey | null => {
    const key = keys.get(id)
    return key === undefined || (owner !== undefined && key.owner !== owner) ? null : key
  }
  return {
    async create(key) {
      if (keys.has(key.id)) throw new Error('there is an API key with this id')
      keys.set(key.id, key)
      const latest = key.createdAt - kept
      const old = [...keys.values()].filter(
        ({ expiresAt, revokedAt }) => isOver(expiresAt, latest) || isOver(revokedAt, latest),
      )
      for (const { id } of old.slice(0, batch)) keys.delete(id)
    },
    find: async (id) => find(id),
    list: async (owner) => [...keys.values()].filter((key) => key.owner === owner).toReversed(),
    async touch(id, at) {
      const key = find(id)
      if (key && (key.lastUsedAt ?? -Infinity) <= at - 60) keys.set(id, { ...key, lastUsedAt: at })
    },
    async revoke(id, at, owner) {
      const key = find(id, owner)
      if (key?.revokedAt !== null) return false
      keys.set(id, { ...key, revokedAt: at })
      return true
    },
    async replace(id, next, until, owner) {
      const key = find(id, owner)
      if (key?.revokedAt !== null || key.replacedBy !== null) return false
      if (isOver(key.expiresAt, next.createdAt)) return false
      const expiresAt = Math.min(key.expiresAt ?? until, until)
      keys.set(id, { ...key, replacedBy: next.id, expiresAt })
      keys.set(next.id, next)
      return true
    },
  }
}
