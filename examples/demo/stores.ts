import { sqlApiKeys } from 'fastify-authn/api-keys'
import { sqlSessions } from 'fastify-authn/sessions'
import { sqlUsers } from 'fastify-authn/users'
import type { Database } from './database.js'

export type Stores = ReturnType<typeof createStores>

/** The stores of the plugin, over the database. Their tables are in schema.sql. */
export function createStores(database: Database) {
  const query = async (sql: string, values: unknown[]) => ({
    rows: await database.query(sql, values),
  })
  const options = { prefix: 'demo', query }
  return {
    users: sqlUsers(options),
    sessions: sqlSessions(options),
    apiKeys: sqlApiKeys(options),
  }
}
