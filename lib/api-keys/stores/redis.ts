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
local function keyOf(id) return KEYS[1] .. ':api-key:' .. id end
local function load(id)
  return redis.call('HMGET', keyOf(id), 'about', 'expiresAt', 'lastUsedAt', 'revokedAt', 'replacedBy', 'owner')
end
local key = keyOf(ARGV[1])
local about, expires, used, revoked, replaced, owner = unpack(load(ARGV[1]))
local function isOf(asked) return about and (asked == '' or asked == owner) end
local function endAt(key, time) redis.call('EXPIREAT', key, math.ceil(time) + 2592000) end

local function create(id, owner, createdAt, expiresAt, about)
  local index = KEYS[1] .. ':api-keys:' .. owner
  redis.call('HSET', keyOf(id), 'about', about, 'owner', owner, 'expiresAt', expiresAt)
  if expiresAt ~= '' then endAt(keyOf(id), expiresAt) end
  for _, old in ipairs(redis.call('ZRANGE', index, 0, 99)) do
    if redis.call('EXISTS', keyOf(old)) == 0 then redis.call('ZREM', index, old) end
  end
  redis.call('ZADD', index, createdAt, id)
end
`

const scripts = {
  create: `${common}
if about then return redis.error_reply('there is an API key with this id') end
create(unpack(ARGV))`,

  find: `${common}
return { about, expires, used, revoked, replaced }`,

  list: `${common}
local found = {}
for _, id in ipairs(redis.call('ZREVRANGE', KEYS[1] .. ':api-keys:' .. ARGV[1], 0, -1)) do
  found[#found + 1] = load(id)
end
return found`,

  touch: `${common}
if about and (used or 0) + 60 <= tonumber(ARGV[2]) then redis.call('HSET', key, 'lastUsedAt', ARGV[2]) end`,

  revoke: `${common}
if revoked or not isOf(ARGV[3]) then return 0 end
redis.call('HSET', key, 'revokedAt', ARGV[2])
endAt(key, math.min(ARGV[2], tonumber(expires) or math.huge))
return 1`,

  replace: `${common}
local _, ends, asked, nextId, _, now = unpack(ARGV)
local last = tonumber(expires) or math.huge
if revoked or replaced or not isOf(asked) or last <= tonumber(now) then return 0 end
ends = math.min(ends, last)
redis.call('HSET', key, 'replacedBy', nextId, 'expiresAt', ends)
endAt(key, ends)
create(unpack(ARGV, 4))
return 1`,
}

function storeOver(run: RunScript<keyof typeof scripts>): ApiKeyStore {
  return {
    create: async (key) => void (await run('create', ...valuesOf(key))),
    find: async (id) => keyOf((await run('find', id)) as Row),
    list: async (owner) => ((await run('list', owner)) as Row[]).flatMap((row) => keyOf(row) ?? []),
    touch: async (id, at) => void (await run('touch', id, at)),
    revoke: async (id, at, owner) => (await run('revoke', id, at, owner ?? '')) === 1,
    replace: async (id, next, until, owner) =>
      (await run('replace', id, until, owner ?? '', ...valuesOf(next))) === 1,
  }
}

type Row = readonly (string | null)[]

function valuesOf(key: StoredApiKey): (string | number)[] {
  const { id, owner, createdAt, expiresAt } = key
  return [id, owner, createdAt, expiresAt ?? '', JSON.stringify(key)]
}

function keyOf([about, ...changing]: Row): StoredApiKey | null {
  if (!about) return null
  const [expiresAt, lastUsedAt, revokedAt] = changing.map((time) => (time ? Number(time) : null))
  return { ...JSON.parse(about), expiresAt, lastUsedAt, revokedAt, replacedBy: changing[3] }
}
