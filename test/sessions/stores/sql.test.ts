// Also holds lib/testing/stores/bench.ts, lib/testing/stores/ends.ts, lib/testing/stores/sessions.ts,
// lib/testing/stores/suite.ts, lib/testing/stores/swaps.ts and lib/testing/stores/texts.ts; and of the store lib/sessions/index.ts,
// lib/sessions/stores/sql-statements.ts and lib/sessions/stores/sql-upkeep.ts.
import t from 'tap'
import { openEmbedded } from '../../../examples/demo/embedded.js'
import { sqlSchema } from '../../../lib/sessions/stores/sql-schema.js'
import { sqlSessions } from '../../../lib/sessions/stores/sql.js'
import { sessionStoreSuite } from '../../../lib/testing/index.js'
import { hasPostgres, postgresServer } from '../../helpers/postgres-server.js'

const skip = hasPostgres() ? false : 'there is no PostgreSQL on this machine'
const schema = ['suite_one', 'suite_two'].map(sqlSchema).join('\n')

t.test('the contract, in PGlite', async (t) => {
  const db = await openEmbedded()
  t.teardown(() => db.close())
  await db.exec(schema)
  const make = (prefix: string) =>
    sqlSessions({ query: (text, params) => db.query(text, params), prefix })
  for (const { name, run } of sessionStoreSuite(make)) t.test(name, run)
})

t.test('the contract, in PostgreSQL', { skip }, async (t) => {
  const server = await postgresServer(t)
  await server.pool().query(schema)
  const make = (prefix: string) => {
    const pool = server.pool()
    return sqlSessions({ query: (text, params) => pool.query(text, params), prefix })
  }
  for (const { name, run } of sessionStoreSuite(make)) t.test(name, run)
})
