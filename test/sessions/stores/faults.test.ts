// program: its own, in npm run test:all
import type { FastifyBaseLogger } from 'fastify'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { StoreClient } from '../../../lib/stores/store-client.js'
import { redisSessions } from '../../../lib/sessions/stores/redis.js'
import { sqlSchema } from '../../../lib/sessions/stores/sql-schema.js'
import { sqlSessions } from '../../../lib/sessions/stores/sql.js'
import { newSession, swapOf, watchStore, type Told } from '../../../lib/testing/stores/suite.js'
import { until } from '../../helpers/load.js'
import { postgresServer } from '../../helpers/postgres-server.js'
import { unlessFound } from '../../helpers/programs.js'
import { redisServer, type RedisServer } from '../../helpers/redis-server.js'
import type { NewSession, SessionStore } from '../../../types/sessions.js'

const log = { error: () => undefined } as unknown as FastifyBaseLogger

/** A store as requests use it, with its time-out. */
const clientOf = (store: SessionStore) => new StoreClient(store, log, 'unavailable', 5)

/** Watches a store, and keeps what it tells. */
function watched(t: Test, store: SessionStore): Promise<Told> {
  t.teardown(() => store.close())
  return watchStore(store)
}

/** Every method rejects, and none answers as if there were no session. */
async function everyCallRejects(t: Test, store: SessionStore): Promise<void> {
  const session = newSession()
  const { sid, sub, handle } = session
  const client = clientOf(store)
  const code = 'ERR_AUTH_STORE_UNAVAILABLE'
  const start = performance.now()
  const calls: ((store: SessionStore) => Promise<unknown>)[] = [
    (it) => it.create(session),
    (it) => it.find(handle),
    (it) => it.swap(swapOf(session, { deadline: Date.now() / 1000 + 1 })),
    (it) => it.revoke({ sid }, 60),
    (it) => it.revoke({ sub }, 60),
    (it) => it.list(sub),
  ]
  await Promise.all(calls.map((call) => t.rejects(client.call(call), { code })))
  t.ok(performance.now() - start < 6000, 'in bounded time')
}

/** A server that can be killed and started again, and stores over it as two processes have them. */
interface Place {
  readonly store: SessionStore
  readonly other: SessionStore
  kill(): Promise<void>
  start(): Promise<void>
}

async function killedAndBack(t: Test, { store, other, kill, start }: Place): Promise<void> {
  const told = await watched(t, store)
  const [session, revoked, more] = [newSession(), newSession(), newSession()]
  for (const each of [session, revoked, more]) await store.create(each)
  const first = swapOf(session, { grace: 60 })
  await store.swap(first)
  await other.revoke({ sid: revoked.sid }, 60)
  // Some are answered before the kill, and some are not.
  const client = clientOf(store)
  // A driver may leave a call of a lost connection unsettled. As in the plugin, it has a time limit.
  const swaps = Array.from({ length: 30 }, () =>
    client.call((it) => it.swap(swapOf(more, { grace: 60 }))),
  )
  const killed = kill()
  const results = await Promise.allSettled(swaps)
  await killed
  const outcomes = results.map((each) => (each.status === 'fulfilled' ? each.value.outcome : ''))
  t.notOk(outcomes.includes('unknown') || outcomes.includes('reused'), String(outcomes))
  await everyCallRejects(t, store)
  await until(() => told.lost.length === 1, 'that it is away is told')
  await start()
  await until(() => told.caughtUp === 2, 'it is caught up again')
  t.ok(told.revocations.has(revoked.sid), 'with what was revoked before')
  const again = await other.swap(swapOf(session))
  t.ok(again.outcome === 'repeated' && again.sealed === first.sealed, 'the answered swap is kept')
  t.match((await store.swap(swapOf(more))).outcome, /^(?:swapped|repeated)$/, 'or can be repeated')
  t.equal((await store.find(revoked.handle)).session, null, 'the revoked session is gone')
}

/** A PostgreSQL of the test's own, with the tables. */
async function postgresStore(t: Test) {
  const server = await postgresServer(t)
  const pool = server.pool({ max: 30 })
  await pool.query(sqlSchema('app'))
  const factory = sqlSessions({ query: (text, params) => pool.query(text, params), prefix: 'app' })
  return { server, pool, open: () => factory.open('shop') }
}

const noRedis = unlessFound('Redis')
const noPostgres = unlessFound('PostgreSQL')

function redisStore(t: Test, { port }: RedisServer): { client: Redis; store: SessionStore } {
  const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 20 })
  client.on('error', () => undefined)
  t.teardown(() => client.disconnect())
  return { client, store: redisSessions(client, { prefix: 'app' }).open('shop') }
}

t.test('calls reject while Redis is killed; sessions survive', { skip: noRedis }, async (t) => {
  const server = await redisServer(t, { persistent: true })
  const [{ store }, { store: other }] = [redisStore(t, server), redisStore(t, server)]
  await killedAndBack(t, { store, other, kill: server.kill, start: server.start })
})

t.test(
  'calls reject while PostgreSQL is killed; sessions survive',
  { skip: noPostgres },
  async (t) => {
    const { server, open } = await postgresStore(t)
    const [store, other] = [open(), open()]
    await killedAndBack(t, { store, other, kill: server.kill, start: server.start })
  },
)

t.test('a swap after its deadline in Redis changes nothing', { skip: noRedis }, async (t) => {
  const server = await redisServer(t)
  const [{ store }, { store: other }] = [redisStore(t, server), redisStore(t, server)]
  const told = await watched(t, store)
  const session = newSession()
  await store.create(session)
  const { now } = await other.find(session.handle)
  server.pause()
  const swap = swapOf(session, { deadline: now + 1 })
  const start = performance.now()
  const swapped = clientOf(other)
    .call((it) => it.swap(swap), 1)
    .then(
      () => 0,
      () => performance.now() - start,
    )
  await everyCallRejects(t, store)
  const waited = await swapped
  // Without the deadline, it would be five seconds.
  t.ok(waited > 900 && waited < 4500, `until its deadline: ${waited} ms`)
  await until(() => told.lost.length === 1, 'that it is away is told')
  server.resume()
  await until(() => told.caughtUp === 2, 'it is caught up again')
  const { session: stored } = await store.find(session.handle)
  t.equal(stored?.lastUsed, stored?.created, 'the swap came after its deadline')
  t.equal((await store.swap(swapOf(session))).outcome, 'swapped', 'the token is the current one')
})

t.test('a swap behind a lock until its deadline is lost', { skip: noPostgres }, async (t) => {
  const { pool, open } = await postgresStore(t)
  const store = open()
  const session = newSession()
  await store.create(session)
  const { now } = await store.find(session.handle)
  const holder = await pool.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT 1 FROM app_sessions FOR UPDATE')
  const swap = swapOf(session, { deadline: now + 1 })
  await t.rejects(
    clientOf(store).call((it) => it.swap(swap), 1),
    { code: 'ERR_AUTH_STORE_UNAVAILABLE' },
  )
  await holder.query('COMMIT')
  holder.release()
  t.ok((await store.find(session.handle)).now >= now + 1, 'until its deadline')
  const stored = await store.find(session.handle)
  t.equal(stored.session?.lastUsed, stored.session?.created, 'the deadline counts after the wait')
  t.equal((await store.swap(swapOf(session))).outcome, 'swapped', 'the token is the current one')
})

t.test('of 20 swaps behind a lock of PostgreSQL, 19 repeat', { skip: noPostgres }, async (t) => {
  const { pool, open } = await postgresStore(t)
  const store = open()
  const [session, revoked] = [newSession(), newSession()] as const
  for (const each of [session, revoked]) await store.create(each)
  const holder = await pool.connect()
  await holder.query('BEGIN')
  // What waits for a row that has been changed meanwhile reads it anew.
  await holder.query("UPDATE app_sessions SET address = 'changed'")
  const swaps = Array.from({ length: 20 }, () => store.swap(swapOf(session)))
  const swap = store.swap(swapOf(revoked))
  const revocations = [
    store.revoke({ sid: revoked.sid }, 60),
    store.revoke({ sub: revoked.sub }, 60),
  ]
  const waiting = async (): Promise<boolean> => {
    const { rowCount } = await holder.query(
      'SELECT FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()',
    )
    return rowCount === 23
  }
  await until(waiting, 'all of them wait')
  await holder.query('COMMIT')
  holder.release()
  const outcomes = (await Promise.all(swaps)).map(({ outcome }) => outcome)
  t.equal(outcomes.filter((outcome) => outcome === 'swapped').length, 1, 'one swaps')
  t.equal(outcomes.filter((outcome) => outcome === 'repeated').length, 19, 'the others repeat')
  t.equal((await Promise.all(revocations)).flat().length, 1, 'one revokes it')
  t.match((await swap).outcome, /^(?:swapped|unknown)$/)
  t.equal((await store.find(revoked.handle)).session, null, 'and nothing is left')
})

t.test('sessions survive while Redis rejects writes', { skip: noRedis }, async (t) => {
  const server = await redisServer(t)
  const { client, store } = redisStore(t, server)
  const session = newSession()
  await store.create(session)

  await client.config('SET', 'min-replicas-to-write', '1')
  await t.rejects(store.swap(swapOf(session)), /NOREPLICAS/)
  await t.rejects(store.create(newSession()), /NOREPLICAS/)
  await t.rejects(store.revoke({ sid: session.sid }, 60), /NOREPLICAS/)
  await client.config('SET', 'min-replicas-to-write', '0')
  await client.call('REPLICAOF', '127.0.0.1', '1')
  await t.rejects(store.swap(swapOf(session)), /READONLY/)
  await client.call('REPLICAOF', 'NO', 'ONE')
  await client.config('SET', 'maxmemory', '1')
  await t.rejects(store.swap(swapOf(session)), /OOM/)
  await client.config('SET', 'maxmemory', '0')
  t.equal((await store.swap(swapOf(session))).outcome, 'swapped', 'nothing has changed')

  await client.del(`{app:shop}:sealed:${session.handle}`)
  await t.rejects(store.swap(swapOf(session)), /gone before its time/, 'no reuse')
  t.not((await store.find(session.handle)).session, null)

  await client.script('FLUSH')
  t.not((await store.find(session.handle)).session, null, 'scripts are sent again')
  await server.kill()
  await server.start()
  await until(() => client.status === 'ready', 'it is connected again')
  t.equal((await store.swap(swapOf(session))).outcome, 'unknown', 'the session is lost')
})

t.test('every key in Redis has a time to live', { skip: noRedis }, async (t) => {
  const server = await redisServer(t)
  const { client, store } = redisStore(t, server)
  const sub = 'alice'
  const sessions = [newSession({ sub }), newSession({ sub, idle: 200 }), newSession()]
  for (const session of sessions) await store.create(session)
  const [one, two, three] = sessions as [NewSession, NewSession, NewSession]
  await store.swap(swapOf(one))
  await store.swap(swapOf(two, { grace: 0.4 }))
  await store.revoke({ sid: three.sid }, 70)
  const keys = (await client.keys('*')).toSorted()
  const kinds = keys.map((key) => key.replace(/^\{app:shop\}:(\w+).*/, '$1'))
  t.strictSame([...new Set(kinds)], ['about', 'owner', 'revoked', 'sealed', 'session', 'sid'])
  for (const key of keys) {
    const left = await client.pttl(key)
    t.ok(left > 0 && left <= 200_000, `${key}: ${left}`)
  }
  const sealed = `{app:shop}:sealed:${two.handle}`
  await until(async () => (await client.exists(sealed)) === 0, 'the grace is over')
  const revoked = `{app:shop}:revoked`
  t.equal(await client.zcard(revoked), 1)
  await client.zadd(revoked, 1, '1:old')
  await store.revoke({ sub }, 70)
  t.equal(await client.zcard(revoked), 3, 'revocations that no longer matter go with the next ones')
})

t.test('PostgreSQL drops expired sessions', { skip: noPostgres }, async (t) => {
  const { pool, open } = await postgresStore(t)
  const store = open()
  const [swapped, expired, used, revoked] = [
    newSession(),
    newSession({ idle: 0.01 }),
    newSession({ idle: 0.3 }),
    newSession({ revocationTtl: 0.01 }),
  ] as const
  for (const session of [swapped, expired, used, revoked]) await store.create(session)
  await store.swap(swapOf(swapped, { grace: 0.05 }))
  await store.swap(swapOf(used, { idle: 90 }))
  await store.revoke({ sid: revoked.sid }, 0.01)
  const count = async (from: string): Promise<number> => {
    const { rows } = await pool.query<{ count: string }>(`SELECT count(*) FROM app_${from}`)
    return Number(rows[0]?.count)
  }
  t.equal(await count('sessions WHERE sealed IS NOT NULL'), 2)
  const counts = (from: string, wanted: number): Promise<void> =>
    until(async () => (await count(from)) === wanted, `${wanted} ${from}`)
  await counts('sessions WHERE sweep_at < clock_timestamp()', 2)
  await watched(t, store)
  await counts('sessions', 2)
  await counts('revocations', 0)
  await counts('sessions WHERE sealed IS NOT NULL', 1)
  t.equal(await count('graces'), 1, 'the other one is within its grace')
  t.not((await store.find(used.handle)).session, null, 'what was used is looked at again later')
  t.equal(await count('sessions WHERE sweep_at < clock_timestamp()'), 0)
})
