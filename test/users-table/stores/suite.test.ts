// program: sql
import t from 'tap'
import { openEmbedded } from '../../../examples/demo/embedded.js'
import { userStoreSuite, type MakeStore } from '../../../lib/testing/index.js'
import { memoryUsers, sqlUsers } from '../../../lib/users-table/index.js'
import { usersSchema } from '../../../lib/users-table/stores/sql-schema.js'
import { postgresServer } from '../../helpers/postgres-server.js'
import { unlessFound } from '../../helpers/programs.js'
import type { UserStoreFactory } from '../../../types/users.js'

const skip = unlessFound('PostgreSQL')
const schema = ['suite_one', 'suite_two'].map(usersSchema).join('\n')

type Make = MakeStore<UserStoreFactory>

const suite =
  (make: Make) => async (t: { test(name: string, run: () => Promise<void>): unknown }) => {
    for (const { name, run } of userStoreSuite(make)) await t.test(name, run)
  }

t.test(
  'memoryUsers() passes userStoreSuite()',
  suite((prefix) => memoryUsers({ prefix })),
)

t.test('sqlUsers() passes userStoreSuite() in PGlite', async (t) => {
  const db = await openEmbedded()
  t.teardown(() => db.close())
  await db.exec(`${schema} ${schema}`)
  await suite((prefix) => sqlUsers({ query: (text, params) => db.query(text, params), prefix }))(t)
})

t.test('sqlUsers() passes userStoreSuite() in PostgreSQL', { skip }, async (t) => {
  const server = await postgresServer(t)
  await server.pool().query(schema)
  await suite((prefix) => {
    const pool = server.pool()
    return sqlUsers({ query: (text, params) => pool.query(text, params), prefix })
  })(t)
})
