import { mkdir, readFile } from 'node:fs/promises'
import { StartError } from './errors.js'
import type { Settings } from './config.js'

/** The little that the demo needs of a database: PGlite and `pg` both speak the SQL of PostgreSQL. */
export interface Database {
  /** Runs one statement. Values go into it as $1, $2, …, never as text of the statement. */
  query<Row>(sql: string, values?: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

/** The table of the app. Its name begins like those of the plugin, so that it does not collide with others. */
const notes = [
  `create table if not exists demo_notes (
     id integer generated always as identity primary key,
     owner_id uuid not null references demo_users (id) on delete cascade,
     title text not null,
     text text not null,
     published boolean not null
   )`,
  'create index if not exists demo_notes_owner on demo_notes (owner_id)',
]

/**
 * Opens the database and creates the tables that are missing: on the PostgreSQL server of
 * `DATABASE_URL`, or else in this process.
 *
 * @throws StartError when it cannot be opened
 */
export async function openDatabase({ databaseUrl, dataDir }: Settings): Promise<Database> {
  const database =
    databaseUrl === undefined ? await openHere(dataDir) : await openServer(databaseUrl)
  try {
    await requireNoOlderTables(database)
    for (const statement of [...(await pluginTables()), ...notes]) await database.query(statement)
    return database
  } catch (error) {
    await database.close()
    if (databaseUrl === undefined) throw error
    throw new StartError(`DATABASE_URL is set, but the database cannot be used: ${reason(error)}`, {
      cause: error,
    })
  }
}

/** Users of an older demo, which had a table of its own, have other columns and ids. */
async function requireNoOlderTables(database: Database): Promise<void> {
  const found = await database.query(
    `select 1 from information_schema.columns
     where table_schema = current_schema() and table_name = 'demo_users' and column_name = 'role'`,
  )
  if (found.length === 0) return
  throw new StartError(
    'The database has the tables of an older demo. Take another one, or delete the tables whose names begin with demo_.',
  )
}

/** The tables of the plugin: what `npx fastify-authn schema --prefix demo` prints. */
async function pluginTables(): Promise<string[]> {
  const sql = await readFile(new URL('schema.sql', import.meta.url), 'utf8')
  const statements = sql.replaceAll(/--.*$/gm, '').split(';')
  return statements.filter((statement) => statement.trim() !== '')
}

async function openHere(dataDir: string | undefined): Promise<Database> {
  const { openEmbedded } = await import('./embedded.js')
  if (dataDir !== undefined) await mkdir(dataDir, { recursive: true })
  const database = await openEmbedded(dataDir)
  return {
    query: async <Row>(sql: string, values?: unknown[]) =>
      (await database.query<Row>(sql, values)).rows,
    close: () => database.close(),
  }
}

async function openServer(connectionString: string): Promise<Database> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 5000 })
  // A connection that breaks while it is idle is replaced at the next query; without a listener the
  // event would end the process.
  pool.on('error', () => undefined)
  return {
    query: async <Row>(sql: string, values?: unknown[]) =>
      (await pool.query(sql, values)).rows as Row[],
    close: () => pool.end(),
  }
}

/** Some errors of connections (AggregateError) have a code and no message. */
function reason(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string }
  return message || code || 'unknown reason'
}
