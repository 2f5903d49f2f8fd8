// The database of the recipes in their tests: PostgreSQL as a package. With `pg`, `all` is the same two lines
// over a Pool.
import { PGlite } from '@electric-sql/pglite'

export const database = new PGlite()

await database.exec(`create table users (
  id bigint generated always as identity primary key,
  email text unique,
  password text
);
create table passkeys (id text primary key, owner bigint not null references users on delete cascade, data jsonb not null)`)

/** For `sqlUsers` and `sqlSessions`. */
export const query = (text: string, params: unknown[]) => database.query<object>(text, params)

export interface User {
  readonly id: number
  readonly email: string
  /** The hash; null for a user who has no password. */
  readonly password: string | null
}

/** The rows. */
export async function all<Row = User>(sql: string, values: unknown[]): Promise<Row[]> {
  return (await database.query<Row>(sql, values)).rows
}

/** The first row, or undefined. */
export async function one(sql: string, values: unknown[]): Promise<User | undefined> {
  return (await all(sql, values))[0]
}
