import { mkdir, readFile } from 'node:fs/promises'
import { StartError } from './errors.js'
import type { Settings } from './config.js'

/** The little that the demo needs of a database: PGlite and `pg` both speak the SQL of PostgreSQL. */
export interface Database {
  /** Runs one statement. Values go into it as $1, $2, …, never as text of the statement. */
  query<Row>(sql: string, values?: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

/** The names begin with `demo_`, so that they do not collide with others in the database. */
const schema = [
  `create table if not exists demo_users (
     id integer generated always as identity primary key,
     name text not null unique,
     email text,
     role text,
     password text
   )`,
  // For a table that an older demo has made: without roles, and with an address and a password for each user.
  'alter table demo_users add column if not exists role text',
  'alter table demo_users alter column email drop not null, alter column password drop not null',
  // What the option secondFactor stores, and the passkeys: see factors.ts.
  'alter table demo_users add column if not exists second_factor text',
  `create table if not exists demo_passkeys (
     id text primary key,
     owner_id integer not null references demo_users (id) on delete cascade,
     data jsonb not null
   )`,
  // Two sign-ups at the same moment: see `create` in accounts.ts.
  'create unique index if not exists demo_users_email on demo_users (email)',
  `create table if not exists demo_notes (
     id integer generated always as identity primary key,
     owner_id integer not null references demo_users (id) on delete cascade,
     title text not null,
     text text not null,
     published boolean not null
   )`,
  'create index if not exists demo_notes_owner on demo_notes (owner_id)',
  // Accounts at the demo provider, whose address, and so its issuer, is another one at each start.
  `create table if not exists demo_identities (
     subject text primary key,
     user_id integer not null references demo_users (id) on delete cascade
   )`,
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
    for (const statement of [...schema, ...(await pluginTables())]) await database.query(statement)
    return database
  } catch (error) {
    await database.close()
    if (databaseUrl === undefined) throw error
    throw new StartError(`DATABASE_URL is set, but the database cannot be used: ${reason(error)}`, {
      cause: error,
    })
  }
}

/**
 * The tables of sessions and API keys, from files that the command line has printed, such as
 * `npx fastify-authn sessions schema --prefix demo`.
 */
async function pluginTables(): Promise<string[]> {
  const files = ['sessions.sql', 'api-keys.sql'].map((file) =>
    readFile(new URL(file, import.meta.url), 'utf8'),
  )
  const sql = (await Promise.all(files)).join('\n')
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
