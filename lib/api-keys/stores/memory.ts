import { openOnce } from '../../stores/memory.js'
import { checkStorePrefix } from '../../stores/redis.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/**
 * Keeps API keys in the memory of this process, for development and tests: a restart invalidates all of them.
 *
 * @param options - `prefix`: the name of the app
 * @throws ERR_AUTH_OPTION for a prefix that does not fit
 */
export function memoryApiKeys(options: { readonly prefix: string }): ApiKeyStoreFactory {
  const prefix = checkStorePrefix(options?.prefix, 'memoryApiKeys({ prefix })')
  return { prefix, isLocal: true, open: openOnce(memoryStore) }
}

const isOver = (time: number | null, now: number): boolean => (time ?? Infinity) <= now

/** Its methods are atomic, because they await nothing. */
function memoryStore(): ApiKeyStore {
  const keys = new Map<string, StoredApiKey>()
  const unrevoked = (id: string, owner?: string): StoredApiKey | undefined => {
    const key = keys.get(id)
    return key?.revokedAt === null && (owner ?? key.owner) === key.owner ? key : undefined
  }
  return {
    async create(key) {
      if (keys.has(key.id)) throw new Error('there is an API key with this id')
      keys.set(key.id, key)
      const last = key.createdAt - 2_592_000
      const old = [...keys.values()].filter(
        (each) => isOver(each.expiresAt, last) || isOver(each.revokedAt, last),
      )
      for (const { id } of old.slice(0, 100)) keys.delete(id)
    },
    find: async (id) => keys.get(id) ?? null,
    list: async (owner) => [...keys.values()].filter((key) => key.owner === owner).toReversed(),
    async touch(id, at) {
      const key = keys.get(id)
      if (key && (key.lastUsedAt ?? 0) <= at - 60) keys.set(id, { ...key, lastUsedAt: at })
    },
    async revoke(id, at, owner) {
      const key = unrevoked(id, owner)
      if (key) keys.set(id, { ...key, revokedAt: at })
      return key !== undefined
    },
    async replace(id, next, until, owner) {
      const key = unrevoked(id, owner)
      if (key?.replacedBy !== null || isOver(key.expiresAt, next.createdAt)) return false
      const expiresAt = Math.min(key.expiresAt ?? until, until)
      keys.set(id, { ...key, replacedBy: next.id, expiresAt }).set(next.id, next)
      return true
    },
  }
}
