// program: its own
// Stores that do not work when an app starts: startup fails for what cannot work later, and the log says the rest.
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { redisSessions, sqlSessions } from '../../lib/sessions/index.js'
import { sqlSchema } from '../../lib/sessions/stores/sql-schema.js'
import { logLines } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { shortFiveSeconds, until } from '../helpers/load.js'
import { postgresServer } from '../helpers/postgres-server.js'
import { unlessFound } from '../helpers/programs.js'
import { freePort } from '../helpers/redis-server.js'
import { clientOf, sessionApp, storeWith } from '../helpers/sessions.js'
import type { SessionStoreFactory, SqlQuery } from '../../lib/sessions/index.js'

const code = 'ERR_AUTH_OPTION'
const line =
  /sqlSessions\(\{ query: \(text, params\) => pool.query\(text, params\), prefix: 'shop' \}\)/

t.test('sqlSessions() throws for a pool or another object instead of its options', async (t) => {
  class Database {
    async query() {
      return { rows: [] }
    }
  }
  for (const wrong of [new Pool(), new Database(), Database, undefined, null, 'postgres://x', {}]) {
    t.throws(() => sqlSessions(wrong as never), { code, message: line })
  }
  const bound = Object.assign(new Pool(), { query: async () => ({ rows: [] }) })
  t.throws(() => sqlSessions(bound as never), { code, message: line })
})

t.test('a query function without its pool is logged, or makes startup fail', async (t) => {
  class Private {
    readonly #rows: unknown[] = []
    async query() {
      return { rows: this.#rows }
    }
  }
  for (const query of [new Pool().query, new Private().query]) {
    t.match((await errorsOf(t, sqlOf(query))).told, line)
  }
  const plain = {
    rows: [],
    query() {
      return this
    },
  }
  for (const query of [plain.query, async () => [{ rows: [] }]]) {
    const error = await rejectionOf(sessionApp(t, { sessions: { store: sqlOf(query as never) } }))
    t.match(error, { code, message: line }, 'a result without rows')
  }
})

const sqlOf = (query: SqlQuery): SessionStoreFactory => sqlSessions({ query, prefix: 'shop' })
const sqlOfPool = (pool: Pool) => sqlOf((text, params) => pool.query(text, params))

/** The errors that an app has logged until it was ready. */
async function errorsOf(t: Test, store: SessionStoreFactory) {
  const { lines, stream } = logLines()
  const start = performance.now()
  const app = await sessionApp(t, { sessions: { store } }, undefined, { logger: { stream } })
  t.ok(performance.now() - start < 8000, 'the startup is bounded')
  const [error, ...more] = lines.filter(({ level }) => level === 50)
  t.strictSame(more, [], 'once')
  return { app, error, told: [error?.msg, error?.reason].join(' ') }
}

t.test('an app starts with a store that cannot be reached, and logs it once', async (t) => {
  shortFiveSeconds(t)
  const port = await freePort()
  const pool = new Pool({ connectionString: `postgres://u:hidden@127.0.0.1:${port}/app` })
  const sql = await errorsOf(t, sqlOfPool(pool))
  t.match(sql.told, /npx fastify-authn sessions schema --prefix shop/)
  t.match(sql.error, { code: 'ECONNREFUSED' })
  t.notMatch(JSON.stringify(sql.error), 'hidden')
  const client = new Redis(port, '127.0.0.1', { lazyConnect: true, password: 'hidden' })
  client.on('error', () => undefined)
  t.teardown(() => client.disconnect())
  const redis = await errorsOf(t, redisSessions(client, { prefix: 'shop' }))
  t.match(redis.told, /session store is unavailable/)
  t.notMatch(JSON.stringify(redis.error), 'hidden')
  // An object that comes later than the plugin, such as `app.pg` of @fastify/postgres.
  const late = {} as { pg: Pool }
  const byLate = sqlOf((text, params) => late.pg.query(text, params))
  t.match((await errorsOf(t, byLate)).told, /sessions schema --prefix shop/)
})

t.test('an app starts after five seconds with a store that never answers', async (t) => {
  shortFiveSeconds(t)
  const silent = storeWith(() => ({ watch() {} }))
  t.match((await errorsOf(t, silent)).told, /no answer in 5 s/)
  const hanging = sqlOf(() => new Promise(() => undefined))
  t.match((await errorsOf(t, hanging)).told, /no answer/)
})

const skip = unlessFound('PostgreSQL')

t.test('an app without its tables logs it, and works when they are made', { skip }, async (t) => {
  const pool = (await postgresServer(t)).pool()
  await pool.query(sqlSchema('admin'))
  const { app, told } = await errorsOf(t, sqlOfPool(pool))
  t.match(told, /npx fastify-authn sessions schema --prefix shop/)
  await pool.query(sqlSchema('shop'))
  await until(() => app.authn.stats().sessions?.isCaughtUp === true, 'the tables are found')
  const { login, me } = clientOf(app)
  t.equal(await me((await login()).token), 200)
})
