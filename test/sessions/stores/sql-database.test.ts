// Also holds lib/sessions/stores/patience.ts, lib/sessions/stores/sql-schema.ts, lib/sessions/stores/sql-text.ts and,
// of lib/sessions/stores/sql.ts, what happens where a database does not do what it should.
import t from 'tap'
import { SqlDatabase } from '../../../lib/sessions/stores/sql-database.js'
import { checkSqlPrefix, sqlSchema } from '../../../lib/sessions/stores/sql-schema.js'
import { fromColumn, toColumn } from '../../../lib/sessions/stores/sql-text.js'
import { sqlSessions } from '../../../lib/sessions/stores/sql.js'
import { until } from '../../helpers/load.js'

const failure = (code: string): Error => Object.assign(new Error(`error ${code}`), { code })

t.test('options', async (t) => {
  const query = async () => ({ rows: [] })
  const code = 'ERR_AUTH_OPTION'
  for (const prefix of ['', 'A', '1a', 'a-b', 'a b', 'a"b', 'a;--', 'é', 'x'.repeat(41), 1, null]) {
    const options = { query, prefix: prefix as string }
    t.throws(() => sqlSessions(options), { code, message: /at most 40 characters of a-z/ })
    t.throws(() => checkSqlPrefix(prefix, '--prefix'), { code, message: /--prefix: found/ })
  }
  for (const [wrong, found] of [
    [undefined, 'undefined'],
    [null, 'null'],
    [{}, 'object'],
  ] as [unknown, string][]) {
    const options = { query: wrong } as never
    t.throws(() => sqlSessions(options), {
      code,
      message: new RegExp(`found ${found}, expected a fun`),
    })
  }
  t.match(sqlSessions({ query }), { prefix: 'fastify_authn', isLocal: false })
  t.match(sqlSessions({ query, prefix: '_a1' }), { prefix: '_a1' })
  const names = sqlSchema('x'.repeat(40)).match(/x{40}\w*/g) ?? []
  t.ok(names.length > 5 && names.every((name) => name.length <= 63), 'what PostgreSQL does not cut')
})

t.test('texts that PostgreSQL does not take', async (t) => {
  for (const text of ['', 'alice', 'Zoë 🦊', '"json:"']) t.equal(toColumn(text), text)
  for (const text of ['a\0b', 'a\ud83e', 'json:x', 'json:"x"', '\0']) {
    const column = toColumn(text)
    t.ok(column.isWellFormed() && !column.includes('\0'), JSON.stringify(text))
    t.equal(fromColumn(column), text)
  }
})

t.test('statements that were in the way of others are run again', async (t) => {
  const failures = [failure('40001'), failure('40P01')]
  let calls = 0
  const database = new SqlDatabase(async () => {
    calls += 1
    const error = failures.shift()
    if (error !== undefined) throw error
    return { rows: [{ count: 1 }] }
  })
  t.strictSame(await database.row('x', []), { count: 1 })
  t.equal(calls, 3)
  failures.push(failure('40001'), failure('40001'), failure('40001'))
  await t.rejects(database.rows('x', []), { code: '40001' }, 'but not for ever')
  failures.splice(0, 3, failure('57P01'))
  calls = 0
  await t.rejects(database.rows('x', []), { code: '57P01' })
  t.equal(calls, 1)
})

t.test('what is no result, and tables that are not there', async (t) => {
  for (const result of [undefined, null, {}, { rows: 1 }, []]) {
    const database = new SqlDatabase(async () => result as never)
    await t.rejects(database.rows('x', []), /has no array "rows"/)
  }
  await t.rejects(new SqlDatabase(async () => ({ rows: [] })).row('x', []), /no row/)
  const missing = new SqlDatabase(() => {
    throw failure('42P01')
  })
  await t.rejects(missing.rows('x', []), {
    message: /npx fastify-authn sessions schema/,
    cause: { code: '42P01' },
  })
  const odd = new SqlDatabase(() => Promise.reject(null))
  await t.rejects(odd.rows('x', []))
})

t.test('numbers of transactions that go back are those of another server', async (t) => {
  const cursors = ['900', '7', '8', '9']
  const asked: unknown[] = []
  const store = sqlSessions({
    query: async (text, [, cursor]) => {
      if (!text.includes('pg_snapshot_xmin')) return { rows: [{ count: 0 }] }
      asked.push(cursor)
      return { rows: [{ cursor: cursors.shift() ?? '9', now: 1, sid: null, until: null }] }
    },
  }).open('shop')
  await store.watch({ ended() {}, caughtUp() {}, lost() {} })
  await until(() => asked.length === 4, 'four questions')
  t.strictSame(asked, ['0', '900', '0', '8'], 'all of its ends are asked for')
  await store.close()
})

t.test('upkeep that fails is done later, and tells nobody', async (t) => {
  let tries = 0
  const told: unknown[] = []
  const store = sqlSessions({
    query: async (text) => {
      if (text.includes('pg_snapshot_xmin')) {
        return { rows: [{ cursor: '1', now: 1, sid: null, until: null }] }
      }
      tries += 1
      throw failure('57014')
    },
  }).open('shop')
  await store.watch({ ended() {}, caughtUp() {}, lost: (error) => told.push(error) })
  await until(() => tries === 2, 'it is tried again')
  t.strictSame(told, [])
  await store.close()
})
