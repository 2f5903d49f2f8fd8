import { defaults } from '../../options/defaults.js'
import { openOnce } from '../../stores/memory.js'
import { checkStorePrefix } from '../../stores/redis.js'
import { maxEnded } from '../key.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/**
 * Keeps API keys in the memory of this process, for development and tests: a restart invalidates all of them.
 * @param options - `prefix`: tells the keys of several apps with this object apart. Default `fastify-authn`
 * @throws ERR_AUTH_OPTION for a prefix that does not fit
 */
export function memoryApiKeys(options: { readonly prefix?: string } = {}): ApiKeyStoreFactory {
  const { prefix: given = defaults.memoryPrefix } = options
  const prefix = checkStorePrefix(given, 'memoryApiKeys({ prefix })')
  return { prefix, isLocal: true, open: openOnce(memoryStore) }
}

const isOver = (time: number | null, now: number): boolean => (time ?? Infinity) <= now
const hasEnded = (key: StoredApiKey, now: number): boolean =>
  isOver(key.expiresAt, now) || isOver(key.revokedAt, now)

/** The methods are atomic, because they await nothing. */
function memoryStore(): ApiKeyStore {
  const keys = new Map<string, StoredApiKey>()
  const unrevoked = (id: string, owner: string | null): StoredApiKey | undefined => {
    const key = keys.get(id)
    return key?.revokedAt === null && (owner ?? key.owner) === key.owner ? key : undefined
  }
  const of = (owner: string) => [...keys.values()].filter((key) => key.owner === owner)
  const countValid = (owner: string, now: number): number =>
    of(owner).filter((key) => !hasEnded(key, now)).length
  function add(key: StoredApiKey): void {
    const { id, owner, createdAt: now } = key
    keys.set(id, key)
    const old = [...keys.values()].filter((each) => hasEnded(each, now - 2_592_000)).slice(0, 100)
    const rest = of(owner).filter((each) => hasEnded(each, now))
    for (const each of [...old, ...rest.slice(0, -maxEnded)]) keys.delete(each.id)
  }
  return {
    async create(key, limit) {
      if (keys.has(key.id)) throw new Error('there is an API key with this id')
      if (countValid(key.owner, key.createdAt) >= limit) return false
      add(key)
      return true
    },
    find: async (id) => keys.get(id) ?? null,
    list: async (owner) => of(owner).toReversed(),
    async touch(id, at) {
      const key = keys.get(id)
      if (key && (key.lastUsedAt ?? 0) <= at - 60) keys.set(id, { ...key, lastUsedAt: at })
    },
    async revoke(id, at, owner) {
      const key = unrevoked(id, owner)
      if (key) keys.set(id, { ...key, revokedAt: at })
      return key !== undefined
    },
    async replace(id, next, until, owner, limit) {
      const key = unrevoked(id, owner)
      const now = next.createdAt
      if (key?.replacedBy !== null || isOver(key.expiresAt, now)) return false
      const end = countValid(key.owner, now) < 2 * limit ? until : now
      keys.set(id, { ...key, replacedBy: next.id, expiresAt: Math.min(key.expiresAt ?? end, end) })
      add(next)
      return true
    },
  }
}
