// program: sql
import t from 'tap'
import { openSql, type RowsOf, type SqlQuery } from '../../lib/stores/sql.js'
import { sqlSchema } from '../../lib/sessions/stores/sql-schema.js'
import { sqlSessions } from '../../lib/sessions/stores/sql.js'
import { until } from '../helpers/load.js'

const rowsWith = (query: SqlQuery, prefix: string): RowsOf =>
  openSql({ query, prefix }, { factory: 'sqlSessions', command: 'sessions' }).rows

const failure = (code: string): Error => Object.assign(new Error(`error ${code}`), { code })

t.test('sqlSessions() throws for a wrong prefix or query', async (t) => {
  const query = async () => ({ rows: [] })
  const code = 'ERR_AUTH_OPTION'
  const strings = ['', 'A', '1a', 'a-b', 'a b', 'a"b', 'a;--', 'é', 'x'.repeat(41)]
  for (const prefix of [...strings, undefined, 1, null]) {
    const options = { query, prefix: prefix as string }
    t.throws(() => sqlSessions(options), { code, message: /at most 40 characters of a-z/ })
  }
  for (const wrong of [undefined, null, {}]) {
    const options = { query: wrong, prefix: 'a' } as never
    t.throws(() => sqlSessions(options), { code, message: /pool.query/ })
  }
  t.match(sqlSessions({ query, prefix: '_a1' }), { prefix: '_a1', isLocal: false })
  const names = sqlSchema('x'.repeat(40)).match(/x{40}\w*/g) ?? []
  t.ok(names.length > 5 && names.every((name) => name.length <= 63), 'what PostgreSQL does not cut')
})

t.test('a result without rows, and a missing table, are an error that says so', async (t) => {
  for (const result of [undefined, null, {}, { rows: 1 }, []]) {
    await t.rejects(rowsWith(async () => result as never, 'a')('x', []), /no array "rows"/)
  }
  const missing = rowsWith(() => {
    throw failure('42P01')
  }, 'shop')
  await t.rejects(missing('x', []), {
    message: /npx fastify-authn sessions schema --prefix shop/,
    cause: { code: '42P01' },
  })
  await t.rejects(rowsWith(() => Promise.reject(null), 'a')('x', []))
})

t.test('upkeep that fails or hangs is tried again, and the store stays available', async (t) => {
  let tries = 0
  const told: unknown[] = []
  const store = sqlSessions({
    query: async (text) => {
      if (text.includes('pg_snapshot_xmin')) {
        return { rows: [{ cursor: '1', now: 1, sid: null, until: null }] }
      }
      tries += 1
      if (tries === 1) throw failure('57014')
      return new Promise<never>(() => undefined)
    },
    prefix: 'a',
  }).open('shop')
  store.watch({ revoked() {}, caughtUp() {}, lost: (error) => told.push(error) })
  await until(() => tries === 3, 'it is tried again')
  t.strictSame(told, [])
  await store.close()
})
