// The database of accounts.ts in its test: PostgreSQL as a package. With `pg`, `one` is the same two lines over a Pool.
import { PGlite } from '@electric-sql/pglite'

export const database = new PGlite()

await database.exec(`create table users (
  id bigint generated always as identity primary key,
  email text unique,
  password text,
  "secondFactor" text
)`)

export interface User {
  readonly id: number
  readonly email: string
  /** The hash; null for a user who has no password. */
  readonly password: string | null
  /** What the option `secondFactor` stores; null for none. */
  readonly secondFactor: string | null
}

/** The first row, or undefined. */
export async function one(sql: string, values: unknown[]): Promise<User | undefined> {
  const { rows } = await database.query<User>(sql, values)
  return rows[0]
}
