/**
 * The Lua scripts of the Redis store. Each runs as one step that nothing can come between, and goes by the clock of
 * Redis. `KEYS[1]` is what all keys of a registration begin with. It is a hash tag, so that in a cluster they are all
 * in one slot, also those that a script derives from it:
 *
 * - `:session:<handle>`: what changes of the record, a hash; gone when the session is over. Its values are short, which
 *   Redis keeps in half of the memory
 * - `:about:<handle>`: what does not change, as JSON
 * - `:sealed:<handle>`: the successor that the direct predecessor gets once more; gone when the grace is over
 * - `:sid:<sid>`: the handle of a session
 * - `:owner:<digest of sub>`: the handles of a user's sessions, by the time at which they are over
 * - `:ends`: the sessions that were ended before their time, by the time of that; `:until`: the same, by the time
 *   until which they matter. A member is `<until>:<sid>`
 *
 * Each of them has a time to live. Numbers are returned as texts, because Redis cuts off their fractions.
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

local fields = { 'created', 'used', 'ends', 'over', 'current', 'previous', 'grace', 'sid', 'owner' }

local function load(handle)
  local values = redis.call('HMGET', root .. ':session:' .. handle, unpack(fields))
  if not values[1] then return nil end
  local session = { handle = handle }
  for i, field in ipairs(fields) do session[field] = values[i] end
  session.about = redis.call('GET', root .. ':about:' .. handle)
  if not session.about or now >= tonumber(session.over) then return nil end
  return session
end

local function shown(session)
  return { session.about, session.created, session.used, session.ends }
end

local function finish(session, keepEnd)
  local ending = text(now + keepEnd)
  local member = ending .. ':' .. session.sid
  redis.call('DEL', root .. ':session:' .. session.handle, root .. ':about:' .. session.handle,
    root .. ':sealed:' .. session.handle, root .. ':sid:' .. session.sid)
  redis.call('ZREM', root .. ':owner:' .. session.owner, session.handle)
  redis.call('ZADD', root .. ':ends', text(now), member)
  redis.call('ZADD', root .. ':until', ending, member)
  for _, over in ipairs(redis.call('ZRANGEBYSCORE', root .. ':until', '-inf', text(now), 'LIMIT', 0, 10)) do
    redis.call('ZREM', root .. ':ends', over)
    redis.call('ZREM', root .. ':until', over)
  end
  keepUntil(root .. ':ends', now + keepEnd)
  keepUntil(root .. ':until', now + keepEnd)
  -- A hint, which may be lost: every process asks twice a second.
  redis.pcall('PUBLISH', root .. ':ends', session.sid)
  return member
end

-- Keeps a record, and what leads to it, until the session is over.
local function keep(handle, sid, owner, over)
  redis.call('PEXPIREAT', root .. ':session:' .. handle, milliseconds(over))
  redis.call('PEXPIREAT', root .. ':about:' .. handle, milliseconds(over))
  redis.call('SET', root .. ':sid:' .. sid, handle)
  redis.call('PEXPIREAT', root .. ':sid:' .. sid, milliseconds(over))
  redis.call('ZADD', root .. ':owner:' .. owner, text(over), handle)
  keepUntil(root .. ':owner:' .. owner, over)
end
`

const create = `
local handle, current, sid, owner, about, lifetime, idle, deadline = unpack(ARGV)
-- Nobody waits for it any more, and nobody would ever have its tokens.
if deadline ~= '' and now >= tonumber(deadline) then return redis.error_reply('ERR too late for a new session') end
local ends = now + tonumber(lifetime)
local over = math.min(ends, now + tonumber(idle))
redis.call('SET', root .. ':about:' .. handle, about)
redis.call('HSET', root .. ':session:' .. handle, 'created', text(now), 'used', text(now),
  'ends', text(ends), 'over', text(over), 'current', current, 'previous', '', 'grace', '0', 'sid', sid,
  'owner', owner)
redis.call('ZREMRANGEBYSCORE', root .. ':owner:' .. owner, '-inf', text(now))
keep(handle, sid, owner, over)
return text(now)
`

const find = `
local session = load(ARGV[1])
return { text(now), session and shown(session) or false }
`

const swap = `
local handle, presented, following, sealed, grace, idle, deadline, keepEnd = unpack(ARGV)
if now >= tonumber(deadline) then return { 'late' } end
local session = load(handle)
if not session then return { 'unknown' } end
local sealedKey = root .. ':sealed:' .. handle

if presented == session.current then
  local over = math.min(tonumber(session.ends), now + tonumber(idle))
  local graceEnd = now + tonumber(grace)
  session.used = text(now)
  redis.call('HSET', root .. ':session:' .. handle, 'current', following, 'previous', presented,
    'grace', text(graceEnd), 'used', session.used, 'over', text(over))
  redis.call('SET', sealedKey, sealed)
  redis.call('PEXPIREAT', sealedKey, milliseconds(graceEnd))
  keep(handle, session.sid, session.owner, over)
  return { 'swapped', text(now), shown(session) }
end

if presented == session.previous and now < tonumber(session.grace) then
  local successor = redis.call('GET', sealedKey)
  -- Evicted for want of memory, say. That is not theft.
  if not successor then return redis.error_reply('ERR the successor of a refresh token is gone before its time') end
  return { 'repeated', text(now), shown(session), successor }
end

finish(session, tonumber(keepEnd))
return { 'reused', text(now), shown(session) }
`

const endSid = `
local handle = redis.call('GET', root .. ':sid:' .. ARGV[1])
local session = handle and load(handle)
return session and { finish(session, tonumber(ARGV[2])) } or {}
`

/** At most 100 at a time, so that Redis is not held up. @returns whether there may be more, and what was ended */
const endOwner = `
local handles = redis.call('ZRANGEBYSCORE', root .. ':owner:' .. ARGV[1], '(' .. text(now), '+inf', 'LIMIT', 0, 100)
local ended = {}
for _, handle in ipairs(handles) do
  local session = load(handle)
  if session then
    table.insert(ended, finish(session, tonumber(ARGV[2])))
  else
    redis.call('ZREM', root .. ':owner:' .. ARGV[1], handle)
  end
end
return { #handles == 100 and '1' or '0', ended }
`

const list = `
local found = {}
for _, handle in ipairs(redis.call('ZRANGEBYSCORE', root .. ':owner:' .. ARGV[1], '(' .. text(now), '+inf')) do
  local session = load(handle)
  if session then table.insert(found, shown(session)) end
end
return found
`

/**
 * The ends since a time, or with an empty text all that still matter. Where the clock of Redis has gone back, all are
 * told too. It writes nothing, so that a server that takes no writes still tells what it knows.
 */
const ends = `
local since = tonumber(ARGV[1])
local members
if since and since <= now then
  -- One second more: the clock may have gone back and forth in between.
  members = redis.call('ZRANGEBYSCORE', root .. ':ends', text(since - 1), '+inf')
else
  members = redis.call('ZRANGEBYSCORE', root .. ':until', '(' .. text(now), '+inf')
end
return { text(now), members }
`

const bodies = { create, find, swap, endSid, endOwner, list, ends }
export type ScriptName = keyof typeof bodies

/** The scripts by their names. */
export const scripts = Object.fromEntries(
  Object.entries(bodies).map(([name, body]) => [name, `${common}${body}`]),
) as Readonly<Record<ScriptName, string>>
