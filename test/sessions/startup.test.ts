// Stores that an app starts with, and that do not work: what never will stops the startup, and what may come later is
// told in the log.
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { redisSessions, sqlSessions } from '../../lib/sessions/index.js'
import { sqlSchema } from '../../lib/sessions/stores/sql-schema.js'
import { logLines } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { until } from '../helpers/load.js'
import { postgresServer } from '../helpers/postgres-server.js'
import { unlessFound } from '../helpers/programs.js'
import { freePort } from '../helpers/redis-server.js'
import { clientOf, heldStore, sessionApp } from '../helpers/sessions.js'
import type { SessionStoreFactory, SqlQuery } from '../../lib/sessions/index.js'

const code = 'ERR_AUTH_OPTION'
const line =
  /sqlSessions\(\{ query: \(text, params\) => pool.query\(text, params\), prefix: 'shop' \}\)/

t.test('a pool in the place of the options', async (t) => {
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

t.test('a method that has lost its object is told, with what to write instead', async (t) => {
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
    t.match(error, { code, message: line }, 'what returns no rows stops the startup')
  }
})

const sqlOf = (query: SqlQuery): SessionStoreFactory => sqlSessions({ query, prefix: 'shop' })

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

t.test('a store that cannot be reached is told, and the app starts', async (t) => {
  const port = await freePort()
  const pool = new Pool({ connectionString: `postgres://u:hidden@127.0.0.1:${port}/app` })
  const sql = await errorsOf(
    t,
    sqlOf((text, params) => pool.query(text, params)),
  )
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
  const later = await errorsOf(
    t,
    sqlOf((text, params) => late.pg.query(text, params)),
  )
  t.match(later.told, /sessions schema --prefix shop/)
})

t.test('stores that never tell anything', async (t) => {
  const { factory } = heldStore()
  const silent = { ...factory, open: (name: string) => ({ ...factory.open(name), watch() {} }) }
  t.match((await errorsOf(t, silent)).told, /no answer in 5 s/)
  t.match(
    (
      await errorsOf(
        t,
        sqlOf(() => new Promise(() => undefined)),
      )
    ).told,
    /no answer/,
  )
})

t.test(
  'tables that are missing, and come later',
  { skip: unlessFound('PostgreSQL') },
  async (t) => {
    const pool = (await postgresServer(t)).pool()
    const query: SqlQuery = (text, params) => pool.query(text, params)
    await pool.query(sqlSchema('admin'))
    const { app, told } = await errorsOf(t, sqlOf(query))
    t.match(told, /npx fastify-authn sessions schema --prefix shop/)
    await pool.query(sqlSchema('shop'))
    await until(() => app.authn.stats().sessions?.isCaughtUp === true, 'the tables are found')
    const { login, me } = clientOf(app)
    t.equal(await me((await login()).token), 200)
  },
)
