import { openRedis, runnerOf, type RunScript, type ScriptClient } from '../../stores/redis.js'
import { digestOf } from '../../common/digest.js'
import { maxEnded } from '../key.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../../types/api-keys.js'

/**
 * Keeps API keys in Redis 6 or later, or in a server that runs its Lua scripts, such as Valkey. Set `maxmemory-policy
 * noeviction` and `appendonly yes`.
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
 * - `:api-keys:<digest of the owner>`, since an owner may be long and have any characters: a sorted set of the ids of an
 *   owner's keys, by the time at which they end. It expires with the last of them
 */
const common = `
local function keyOf(id) return KEYS[1] .. ':api-key:' .. id end
local function indexOf(owner) return KEYS[1] .. ':api-keys:' .. owner end
local function load(id)
  return redis.call('HMGET', keyOf(id), 'about', 'expiresAt', 'lastUsedAt', 'revokedAt', 'replacedBy', 'owner')
end
local key = keyOf(ARGV[1])
local about, expires, used, revoked, replaced, owner = unpack(load(ARGV[1]))
local function isOf(asked) return about and (asked == '' or asked == owner) end
local function countValid(owner, now) return redis.call('ZCOUNT', indexOf(owner), '(' .. now, '+inf') end

local function endAt(id, owner, time)
  local index = indexOf(owner)
  redis.call('ZADD', index, time == '' and '+inf' or time, id)
  if time ~= '' then redis.call('EXPIREAT', keyOf(id), math.ceil(time) + 2592000) end
  local last = redis.call('ZREVRANGE', index, 0, 0, 'WITHSCORES')[2]
  if last == 'inf' then redis.call('PERSIST', index)
  else redis.call('EXPIREAT', index, math.ceil(last) + 2592000) end
end

local function create(id, owner, createdAt, expiresAt, about)
  local index = indexOf(owner)
  -- Comes first: a full Redis rejects it, but not after a write that takes no memory.
  redis.call('HSET', keyOf(id), 'about', about, 'owner', owner, 'expiresAt', expiresAt)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', createdAt - 2592001)
  local spare = math.min(100, redis.call('ZCOUNT', index, '-inf', createdAt) - ${maxEnded})
  for _, old in ipairs(spare > 0 and redis.call('ZRANGE', index, 0, spare - 1) or {}) do
    redis.call('DEL', keyOf(old))
    redis.call('ZREM', index, old)
  end
  endAt(id, owner, expiresAt)
end
`

const scripts = {
  create: `${common}
if about then return redis.error_reply('there is an API key with this id') end
if countValid(ARGV[2], ARGV[3]) >= tonumber(ARGV[6]) then return 0 end
create(unpack(ARGV))
return 1`,

  find: `${common}
return { about, expires, used, revoked, replaced }`,

  ids: `
return redis.call('ZRANGE', KEYS[1] .. ':api-keys:' .. ARGV[1], 0, -1)`,

  load: `${common}
local found = {}
for at, id in ipairs(ARGV) do found[at] = load(id) end
return found`,

  touch: `${common}
if about and (used or 0) + 60 <= tonumber(ARGV[2]) then redis.call('HSET', key, 'lastUsedAt', ARGV[2]) end`,

  revoke: `${common}
if revoked or not isOf(ARGV[3]) then return 0 end
-- After a write that takes no memory, a full Redis accepts the next one.
redis.call('HDEL', key, 'revokedAt')
redis.call('HSET', key, 'revokedAt', ARGV[2])
endAt(ARGV[1], owner, math.min(ARGV[2], tonumber(expires) or math.huge))
return 1`,

  replace: `${common}
local id, ends, asked, limit, nextId, _, now = unpack(ARGV)
local last = tonumber(expires) or math.huge
if revoked or replaced or not isOf(asked) or last <= tonumber(now) then return 0 end
if countValid(owner, now) >= 2 * limit then ends = now end
ends = math.min(ends, last)
redis.call('HSET', key, 'replacedBy', nextId, 'expiresAt', ends)
endAt(id, owner, ends)
create(unpack(ARGV, 5))
return 1`,
}

function storeOver(run: RunScript<keyof typeof scripts>): ApiKeyStore {
  return {
    create: async (key, limit) => (await run('create', ...valuesOf(key), limit)) === 1,
    find: async (id) => keyOf((await run('find', id)) as Row),
    async list(owner) {
      const ids = (await run('ids', digestOf(owner))) as string[]
      const found: StoredApiKey[] = []
      // A script blocks Redis for all others while it runs.
      for (let at = 0; at < ids.length; at += 100) {
        const rows = (await run('load', ...ids.slice(at, at + 100))) as Row[]
        found.push(...rows.flatMap((row) => keyOf(row) ?? []))
      }
      return found.toSorted((one, other) => other.createdAt - one.createdAt)
    },
    touch: async (id, at) => void (await run('touch', id, at)),
    revoke: async (id, at, owner) => (await run('revoke', id, at, askedOf(owner))) === 1,
    replace: async (id, next, until, owner, limit) =>
      (await run('replace', id, until, askedOf(owner), limit, ...valuesOf(next))) === 1,
  }
}

const askedOf = (owner: string | null): string => (owner === null ? '' : digestOf(owner))

type Row = readonly (string | null)[]

function valuesOf(key: StoredApiKey): (string | number)[] {
  const { id, owner, createdAt, expiresAt } = key
  return [id, digestOf(owner), createdAt, expiresAt ?? '', JSON.stringify(key)]
}

function keyOf([about, ...changing]: Row): StoredApiKey | null {
  if (!about) return null
  const [expiresAt, lastUsedAt, revokedAt] = changing.map((time) => (time ? Number(time) : null))
  return { ...JSON.parse(about), expiresAt, lastUsedAt, revokedAt, replacedBy: changing[3] }
}
