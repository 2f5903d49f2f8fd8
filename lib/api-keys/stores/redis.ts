import { openRedis, runnerOf, type RunScript, type ScriptClient } from '../../stores/redis.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/**
 * Keeps API keys in Redis 6 or later, or in a server that runs its Lua scripts, such as Valkey. Set `maxmemory-policy
 * noeviction` and `appendonly yes`.
 *
 * @param client - a client of ioredis, which is neither configured nor closed
 * @param options - `prefix`: the name of the app, with which all keys begin: letters, digits and `_ . : -`, at most 64
 * @throws ERR_AUTH_OPTION if the client is not one of ioredis, or the prefix has other characters or is too long
 */
export function redisApiKeys(
  client: object,
  options: { readonly prefix: string },
): ApiKeyStoreFactory {
  const opened = openRedis<ScriptClient>(client, options, 'redisApiKeys', ['evalsha', 'eval'])
  return {
    prefix: opened.prefix,
    isLocal: false,
    // The braces make a hash tag: a cluster has all keys of a registration in one slot.
    open: (name) => storeOver(runnerOf(opened.client, `{${opened.prefix}:${name}}`, scripts)),
  }
}

/**
 * The Lua scripts. Each is atomic. The keys of a registration begin with `KEYS[1]`:
 *
 * - `:api-key:<id>`: a key, a hash with the members that change, and in `about` the others as JSON. It is deleted 30 days
 *   after the key has expired or was revoked
 * - `:api-keys:<owner>`: a sorted set of the ids of an owner's keys, the oldest first
 */
const common = `
local root = KEYS[1]
local key = root .. ':api-key:' .. ARGV[1]

local function keep(key)
  local times, over = redis.call('HMGET', key, 'expiresAt', 'revokedAt'), math.huge
  for i = 1, 2 do over = math.min(over, tonumber(times[i] or over)) end
  if over < math.huge then redis.call('PEXPIREAT', key, string.format('%.0f', (over + 2592000) * 1000)) end
end

local function create(id, owner, createdAt, expiresAt, about)
  local key, index = root .. ':api-key:' .. id, root .. ':api-keys:' .. owner
  redis.call('HSET', key, 'about', about, 'owner', owner)
  if expiresAt ~= '' then redis.call('HSET', key, 'expiresAt', expiresAt) end
  keep(key)
  for _, old in ipairs(redis.call('ZRANGE', index, 0, 99)) do
    if redis.call('EXISTS', root .. ':api-key:' .. old) == 0 then redis.call('ZREM', index, old) end
  end
  redis.call('ZADD', index, createdAt, id)
end

local function isOf(owner)
  local found = redis.call('HGET', key, 'owner')
  return found and (owner == '' or found == owner)
end
`

const scripts = {
  create: `${common}
if redis.call('EXISTS', key) == 1 then return redis.error_reply('there is an API key with this id') end
create(unpack(ARGV))`,

  find: `${common}
return redis.call('HMGET', key, 'about', 'expiresAt', 'lastUsedAt', 'revokedAt', 'replacedBy')`,

  list: `
local found = {}
for _, id in ipairs(redis.call('ZREVRANGE', KEYS[1] .. ':api-keys:' .. ARGV[1], 0, -1)) do
  local key = KEYS[1] .. ':api-key:' .. id
  found[#found + 1] = redis.call('HMGET', key, 'about', 'expiresAt', 'lastUsedAt', 'revokedAt', 'replacedBy')
end
return found`,

  touch: `${common}
local last = redis.call('HGET', key, 'lastUsedAt')
if isOf('') and (not last or tonumber(last) + 60 <= tonumber(ARGV[2])) then
  redis.call('HSET', key, 'lastUsedAt', ARGV[2])
end`,

  revoke: `${common}
if not isOf(ARGV[3]) or redis.call('HSETNX', key, 'revokedAt', ARGV[2]) == 0 then return 0 end
keep(key)
return 1`,

  replace: `${common}
local _, ends, owner, id, nextOwner, now = unpack(ARGV)
local revoked, replaced, expires = unpack(redis.call('HMGET', key, 'revokedAt', 'replacedBy', 'expiresAt'))
if not isOf(owner) or revoked or replaced or (expires and tonumber(expires) <= tonumber(now)) then return 0 end
redis.call('HSET', key, 'replacedBy', id)
if not expires or tonumber(ends) < tonumber(expires) then redis.call('HSET', key, 'expiresAt', ends) end
keep(key)
create(unpack(ARGV, 4))
return 1`,
}

function storeOver(run: RunScript<keyof typeof scripts>): ApiKeyStore {
  return {
    create: async (key) => void (await run('create', ...valuesOf(key))),
    find: async (id) => keyOf((await run('find', id)) as Row),
    async list(owner) {
      const rows = (await run('list', owner)) as Row[]
      return rows.flatMap((row) => keyOf(row) ?? [])
    },
    touch: async (id, at) => void (await run('touch', id, at)),
    revoke: async (id, at, owner) => (await run('revoke', id, at, owner ?? '')) === 1,
    replace: async (id, next, until, owner) =>
      (await run('replace', id, until, owner ?? '', ...valuesOf(next))) === 1,
  }
}

type Row = readonly [about: string | null, ...changing: (string | null)[]]

function valuesOf(key: StoredApiKey): (string | number)[] {
  const { id, owner, createdAt, expiresAt } = key
  return [id, owner, createdAt, expiresAt ?? '', JSON.stringify(key)]
}

function keyOf([about, ...changing]: Row): StoredApiKey | null {
  if (about === null) return null
  const [expiresAt, lastUsedAt, revokedAt] = changing.map((time) => time && Number(time))
  const [, , , replacedBy] = changing
  return { ...JSON.parse(about), expiresAt, lastUsedAt, revokedAt, replacedBy } as StoredApiKey
}
