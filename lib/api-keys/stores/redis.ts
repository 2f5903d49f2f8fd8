import { createHash } from 'node:crypto'
import {
  checkRedisClient,
  runnerOf,
  type RunScript,
  type ScriptClient,
} from '../../stores/redis.js'
import { scopesIn } from '../key.js'
import { checkStorePrefix } from '../../stores/prefix.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/**
 * Keeps API keys in Redis 6 or later, or in a server that runs its Lua scripts, such as Valkey. Set `maxmemory-policy
 * noeviction` and `appendonly yes`.
 *
 * @param client - a client of ioredis, which is neither configured nor closed
 * @param options - `prefix`: the name of the app, with which all keys begin: letters, digits and `_ . : -`, at most 64
 * @throws ERR_AUTH_OPTION for another client, or a prefix that does not fit
 */
export function redisApiKeys(
  client: object,
  options: { readonly prefix: string },
): ApiKeyStoreFactory {
  const checked = checkRedisClient<ScriptClient>(client, ['evalsha', 'eval'], 'redisApiKeys')
  const prefix = checkStorePrefix(options?.prefix, 'redisApiKeys(client, options)')
  return {
    prefix,
    isLocal: false,
    // The braces make a hash tag: a cluster has all keys of a registration in one slot.
    open: (name) => storeOver(runnerOf(checked, `{${prefix}:${name}}`, scripts)),
  }
}

/**
 * The Lua scripts. Each is atomic. The keys of a registration begin with `KEYS[1]`:
 *
 * - `:api-key:<id>`: a key, a hash. It expires 30 days after the key has expired or was revoked
 * - `:api-keys:<digest of the owner>`: the ids of an owner's keys, by `createdAt`
 *
 * Optional values are empty strings.
 */
const common = `
local root = KEYS[1]
local function place(id) return root .. ':api-key:' .. id end

local function keep(id)
  local times = redis.call('HMGET', place(id), 'expiresAt', 'revokedAt')
  local over
  for i = 1, 2 do
    local time = tonumber(times[i] or '')
    if time and (not over or time < over) then over = time end
  end
  if over then redis.call('PEXPIREAT', place(id), string.format('%.0f', (over + 2592000) * 1000)) end
end

local function create(at)
  local id, index = ARGV[at], root .. ':api-keys:' .. ARGV[at + 1]
  for i = at + 3, #ARGV, 2 do
    if ARGV[i + 1] ~= '' or ARGV[i] == 'scopes' then redis.call('HSET', place(id), ARGV[i], ARGV[i + 1]) end
  end
  keep(id)
  for _, old in ipairs(redis.call('ZRANGE', index, 0, 99)) do
    if redis.call('EXISTS', place(old)) == 0 then redis.call('ZREM', index, old) end
  end
  redis.call('ZADD', index, ARGV[at + 2], id)
end

local function isOf(id, owner)
  local found = redis.call('HGET', place(id), 'owner')
  return found and (owner == '' or found == owner)
end
`

const scripts = {
  create: `${common}
if redis.call('EXISTS', place(ARGV[1])) == 1 then return redis.error_reply('there is an API key with this id') end
create(1)
return 1`,

  find: `return redis.call('HGETALL', KEYS[1] .. ':api-key:' .. ARGV[1])`,

  list: `${common}
local found = {}
for _, id in ipairs(redis.call('ZREVRANGE', root .. ':api-keys:' .. ARGV[1], 0, -1)) do
  local key = redis.call('HGETALL', place(id))
  if #key > 0 then found[#found + 1] = key end
end
return found`,

  touch: `${common}
local times = redis.call('HMGET', place(ARGV[1]), 'id', 'lastUsedAt')
if times[1] and (not times[2] or tonumber(times[2]) + 60 <= tonumber(ARGV[2])) then
  redis.call('HSET', place(ARGV[1]), 'lastUsedAt', ARGV[2])
end
return 1`,

  revoke: `${common}
if not isOf(ARGV[1], ARGV[3]) or redis.call('HEXISTS', place(ARGV[1]), 'revokedAt') == 1 then return 0 end
redis.call('HSET', place(ARGV[1]), 'revokedAt', ARGV[2])
keep(ARGV[1])
return 1`,

  replace: `${common}
local old, ends, owner = ARGV[1], ARGV[2], ARGV[3]
if not isOf(old, owner) then return 0 end
local now = redis.call('HMGET', place(old), 'revokedAt', 'replacedBy', 'expiresAt')
if now[1] or now[2] or (now[3] and tonumber(now[3]) <= tonumber(ARGV[6])) then return 0 end
redis.call('HSET', place(old), 'replacedBy', ARGV[4])
if not now[3] or tonumber(ends) < tonumber(now[3]) then redis.call('HSET', place(old), 'expiresAt', ends) end
keep(old)
create(4)
return 1`,
} as const

function storeOver(run: RunScript<keyof typeof scripts>): ApiKeyStore {
  return {
    create: async (key) => void (await run('create', ...valuesOf(key))),
    async find(id) {
      const found = (await run('find', id)) as string[]
      return found.length === 0 ? null : keyOf(found)
    },
    list: async (owner) => ((await run('list', digestOf(owner))) as string[][]).map(keyOf),
    touch: async (id, at) => void (await run('touch', id, at)),
    revoke: async (id, at, owner = '') => (await run('revoke', id, at, owner)) === 1,
    replace: async (id, next, until, owner = '') =>
      (await run('replace', id, until, owner, ...valuesOf(next))) === 1,
  }
}

/** The owner's part of a Redis key: a digest, since a name may be long and have any characters. */
function digestOf(owner: string): string {
  return createHash('sha256').update(owner).digest('base64url')
}

/** The id, the owner, the time, and then names and values of all members. */
function valuesOf(key: StoredApiKey): (string | number)[] {
  const members = Object.entries({ ...key, scopes: key.scopes.join(' ') })
  const texts = members.flatMap(([name, value]) => [name, value ?? ''])
  return [key.id, digestOf(key.owner), key.createdAt, ...texts]
}

function keyOf(pairs: readonly string[]): StoredApiKey {
  const { id, digest, owner, ownerType, name, scopes, ...times } = Object.fromEntries(
    pairs.flatMap((value, at) => (at % 2 === 1 ? [[pairs[at - 1], value]] : [])),
  ) as Readonly<Record<string, string>>
  const time = (value: string | undefined): number | null =>
    value === undefined ? null : Number(value)
  return {
    ...({ id, digest, owner, ownerType, name } as Pick<
      StoredApiKey,
      'id' | 'digest' | 'owner' | 'ownerType' | 'name'
    >),
    scopes: scopesIn(scopes as string),
    createdAt: Number(times.createdAt),
    expiresAt: time(times.expiresAt),
    lastUsedAt: time(times.lastUsedAt),
    revokedAt: time(times.revokedAt),
    replacedBy: times.replacedBy ?? null,
  }
}
