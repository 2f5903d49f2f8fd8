import { checkStorePrefix } from '../../stores/prefix.js'
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
  const prefix = checkStorePrefix(options?.prefix, 'memoryApiKeys')
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
  const of = (id: string, owner: string | undefined): StoredApiKey | null => {
    const key = keys.get(id)
    return key !== undefined && (owner === undefined || key.owner === owner) ? key : null
  }
  const change = (key: StoredApiKey, changes: Partial<StoredApiKey>): void =>
    void keys.set(key.id, { ...key, ...changes })
  const isOver = ({ expiresAt, revokedAt }: StoredApiKey, now: number): boolean =>
    [expiresAt, revokedAt].some((time) => time !== null && time + kept <= now)
  return {
    async create(key) {
      if (keys.has(key.id)) throw new Error('there is an API key with this id')
      keys.set(key.id, key)
      const old = [...keys.values()].filter((each) => isOver(each, key.createdAt))
      for (const { id } of old.slice(0, batch)) keys.delete(id)
    },
    find: async (id) => of(id, undefined),
    list: async (owner) => [...keys.values()].filter((key) => key.owner === owner).toReversed(),
    async touch(id, at) {
      const key = of(id, undefined)
      if (key !== null && (key.lastUsedAt ?? 0) + 60 <= at) change(key, { lastUsedAt: at })
    },
    async revoke(id, at, owner) {
      const key = of(id, owner)
      if (key === null || key.revokedAt !== null) return false
      change(key, { revokedAt: at })
      return true
    },
    async replace(id, next, until, owner) {
      const key = of(id, owner)
      if (key === null || key.revokedAt !== null || key.replacedBy !== null) return false
      if (key.expiresAt !== null && key.expiresAt <= next.createdAt) return false
      change(key, { replacedBy: next.id, expiresAt: Math.min(key.expiresAt ?? until, until) })
      keys.set(next.id, next)
      return true
    },
  }
}
