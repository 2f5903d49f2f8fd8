import type { Database } from './database.js'

/** For the stores of the plugin, of sessions and API keys: the database as `pg` has it, and how their tables begin. */
export function storeOptions(database: Database) {
  const query = async (sql: string, values: unknown[]) => ({
    rows: await database.query(sql, values),
  })
  return { prefix: 'demo', query }
}
