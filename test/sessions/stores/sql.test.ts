// program: sql
import t, { type Test } from 'tap'
import { openEmbedded } from '../../../examples/demo/embedded.js'
import { sqlSchema } from '../../../lib/sessions/stores/sql-schema.js'
import { sqlSessions } from '../../../lib/sessions/stores/sql.js'
import { sessionStoreSuite, type StoreCase } from '../../../lib/testing/index.js'
import { postgresServer } from '../../helpers/postgres-server.js'
import { unlessFound } from '../../helpers/programs.js'

const skip = unlessFound('PostgreSQL')
const schema = ['suite_one', 'suite_two'].map(sqlSchema).join('\n')

/** Some at once, in their order: many of them wait for something to expire. */
function runAll(t: Test, cases: readonly StoreCase[]): void {
  t.jobs = 4
  for (const { name, run } of cases) t.test(name, { buffered: true }, run)
}

t.test('sqlSessions() passes sessionStoreSuite() in PGlite', async (t) => {
  const db = await openEmbedded()
  t.teardown(() => db.close())
  await db.exec(schema)
  const make = (prefix: string) =>
    sqlSessions({ query: (text, params) => db.query(text, params), prefix })
  runAll(t, sessionStoreSuite(make))
})

t.test('sqlSessions() passes sessionStoreSuite() in PostgreSQL', { skip }, async (t) => {
  const server = await postgresServer(t)
  await server.pool().query(schema)
  const make = (prefix: string) => {
    const pool = server.pool()
    return sqlSessions({ query: (text, params) => pool.query(text, params), prefix })
  }
  runAll(t, sessionStoreSuite(make))
})
