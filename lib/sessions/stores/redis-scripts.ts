/**
 * The Lua scripts of the Redis store. Each is atomic, and goes by the clock of Redis. All keys of a registration begin
 * with `KEYS[1]`. It is a hash tag, so that a cluster has all of them in one slot:
 *
 * - `:session:<handle>`: the members of a session that change, a hash. Its values are short, which halves its memory
 * - `:about:<handle>`: the other members, as JSON
 * - `:sealed:<handle>`: the successor that the last token before the current one gets again during the grace
 * - `:sid:<sid>`: the handle of a session
 * - `:owner:<digest of sub>`, since `sub` may be long and have any characters: the handles of a user's sessions, by the time at which they expire
 * - `:gone:<digest of sub>`: when all sessions of a user were revoked, for an hour: `<time>:<process>`
 * - `:used:<sid>`: a `sid` that must not be used again
 * - `:revoked`: revocations, `<until>:<sid>`, by the time of the revocation
 *
 * All keys expire. Numbers are returned as strings, because Redis cuts off their fractions.
 */
const common = `
local root = KEYS[1]
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000

local function text(seconds) return string.format('%.6f', seconds) end
local function milliseconds(seconds) return string.format('%.0f', math.ceil(seconds * 1000)) end

local function keepUntil(key, seconds)
  if redis.call('PTTL', key) < (seconds - now) * 1000 then
    redis.call('PEXPIREAT', key, milliseconds(seconds))
  end
end

local fields = { 'created', 'used', 'ends', 'expires', 'current', 'previous', 'grace', 'sid', 'owner', 'ttl' }

local function load(handle)
  local values = redis.call('HMGET', root .. ':session:' .. handle, unpack(fields))
  if not values[1] then return nil end
  local session = { handle = handle }
  for i, field in ipairs(fields) do session[field] = values[i] end
  session.about = redis.call('GET', root .. ':about:' .. handle)
  if not session.about or now >= tonumber(session.expires) then return nil end
  return session
end

local function row(session)
  return { session.about, session.created, session.used, session.ends }
end

local function revoke(session, ttl)
  ttl = math.max(ttl, tonumber(session.ttl))
  local member = text(now + ttl) .. ':' .. session.sid
  redis.call('DEL', root .. ':session:' .. session.handle, root .. ':about:' .. session.handle,
    root .. ':sealed:' .. session.handle, root .. ':sid:' .. session.sid)
  redis.call('ZREM', root .. ':owner:' .. session.owner, session.handle)
  redis.call('ZADD', root .. ':revoked', text(now), member)
  for _, old in ipairs(redis.call('ZRANGE', root .. ':revoked', 0, 9)) do
    if tonumber(string.match(old, '^[^:]*')) <= now then redis.call('ZREM', root .. ':revoked', old) end
  end
  keepUntil(root .. ':revoked', now + ttl)
  -- The message may be lost: every process polls twice a second.
  redis.pcall('PUBLISH', root .. ':revoked', session.sid)
  return member
end

-- Makes the keys of a session expire with it.
local function keep(handle, sid, owner, expires)
  redis.call('PEXPIREAT', root .. ':session:' .. handle, milliseconds(expires))
  redis.call('PEXPIREAT', root .. ':about:' .. handle, milliseconds(expires))
  redis.call('SET', root .. ':sid:' .. sid, handle)
  redis.call('PEXPIREAT', root .. ':sid:' .. sid, milliseconds(expires))
  redis.call('ZADD', root .. ':owner:' .. owner, text(expires), handle)
  keepUntil(root .. ':owner:' .. owner, expires)
end
`

export const scripts = {
  create: `${common}
local handle, current, sid, owner, about, lifetime, idle, ttl, most, once = unpack(ARGV)
local ends = now + tonumber(lifetime)
local expires = math.min(ends, now + tonumber(idle))
-- These come first: a full Redis rejects them, but not after a write that takes no memory.
if tonumber(once) > 0 and not redis.call('SET', root .. ':used:' .. sid, '', 'NX', 'PX', milliseconds(tonumber(once))) then
  return false
end
redis.call('SET', root .. ':about:' .. handle, about, 'PX', milliseconds(expires - now))
local ownerKey = root .. ':owner:' .. owner
redis.call('ZREMRANGEBYSCORE', ownerKey, '-inf', text(now))
local revoked = {}
if redis.call('ZCARD', ownerKey) >= tonumber(most) then
  local sessions = {}
  for _, each in ipairs(redis.call('ZRANGE', ownerKey, 0, -1)) do
    local session = load(each)
    if session then table.insert(sessions, session) else redis.call('ZREM', ownerKey, each) end
  end
  table.sort(sessions, function(one, other) return tonumber(one.created) < tonumber(other.created) end)
  for i = 1, #sessions - tonumber(most) + 1 do table.insert(revoked, revoke(sessions[i], 0)) end
end
redis.call('HSET', root .. ':session:' .. handle, 'created', text(now), 'used', text(now),
  'ends', text(ends), 'expires', text(expires), 'current', current, 'previous', '', 'grace', '0', 'sid', sid,
  'owner', owner, 'ttl', ttl)
keep(handle, sid, owner, expires)
return { text(now), revoked, redis.call('GET', root .. ':gone:' .. owner) or '' }
`,

  find: `${common}
local session = load(ARGV[1])
return { text(now), session and row(session) or false }
`,

  swap: `${common}
local handle, presented, following, sealed, grace, idle, deadline, ttl = unpack(ARGV)
if now >= tonumber(deadline) then return { 'late' } end
local session = load(handle)
if not session then return { 'unknown' } end
local sealedKey = root .. ':sealed:' .. handle
if tonumber(ttl) > tonumber(session.ttl) then
  session.ttl = ttl
  redis.call('HSET', root .. ':session:' .. handle, 'ttl', ttl)
end

if presented == session.current then
  local expires = math.min(tonumber(session.ends), now + tonumber(idle))
  local graceEnd = now + tonumber(grace)
  session.used = text(now)
  redis.call('HSET', root .. ':session:' .. handle, 'current', following, 'previous', presented,
    'grace', text(graceEnd), 'used', session.used, 'expires', text(expires))
  redis.call('SET', sealedKey, sealed)
  redis.call('PEXPIREAT', sealedKey, milliseconds(graceEnd))
  keep(handle, session.sid, session.owner, expires)
  return { 'swapped', text(now), row(session) }
end

if presented == session.previous and now < tonumber(session.grace) then
  local successor = redis.call('GET', sealedKey)
  -- Redis may have evicted it. That is not theft.
  if not successor then return redis.error_reply('ERR the successor of a refresh token is gone before its time') end
  return { 'repeated', text(now), row(session), successor }
end

revoke(session, 0)
return { 'reused', text(now), row(session) }
`,

  /**
   * Revokes one session or, where an owner is given, at most 100, so that it does not block Redis. The first call for
   * an owner says which process asks. @returns whether there may be more, and what was revoked
   */
  revoke: `${common}
local sid, owner, ttl, by = unpack(ARGV)
if by then
  -- After a write that takes no memory, a full Redis accepts the next one.
  redis.call('DEL', root .. ':gone:' .. owner)
  redis.call('SET', root .. ':gone:' .. owner, text(now) .. ':' .. by, 'EX', 3600)
end
local ownerKey = root .. ':owner:' .. owner
local handles = { redis.call('GET', root .. ':sid:' .. sid) or nil }
if owner ~= '' then
  handles = redis.call('ZRANGEBYSCORE', ownerKey, '(' .. text(now), '+inf', 'LIMIT', 0, 100)
end
local revoked = {}
for _, handle in ipairs(handles) do
  local session = load(handle)
  if session then table.insert(revoked, revoke(session, tonumber(ttl))) end
  if not session then redis.call('ZREM', ownerKey, handle) end
end
return { #handles == 100 and '1' or '0', revoked }
`,

  list: `${common}
local found = {}
for _, handle in ipairs(redis.call('ZRANGEBYSCORE', root .. ':owner:' .. ARGV[1], '(' .. text(now), '+inf')) do
  local session = load(handle)
  if session then table.insert(found, row(session)) end
end
return found
`,

  /**
   * The revocations since a time; with an empty string, and where the clock of Redis has gone back, all. It writes
   * nothing, so that it also works on a read-only server.
   */
  revocations: `${common}
local since = tonumber(ARGV[1])
-- A second more, since the clock may have been set back a little.
local from = since and since <= now and text(since - 1) or '-inf'
return { text(now), redis.call('ZRANGEBYSCORE', root .. ':revoked', from, '+inf') }
`,
}
