import type { Row } from '../../stores/sql.js'
import type { UserIdentity, UserRow } from '../../../types/users.js'

/** A time as a driver has parsed it: a Date, milliseconds, or the text of PostgreSQL. */
function dateOf(value: unknown): Date {
  if (value instanceof Date) return value
  // PostgreSQL writes +00 for what JavaScript reads as +00:00.
  const text = typeof value === 'string' ? value.replace(/([+-]\d\d)$/, '$1:00') : value
  return new Date(text as string | number)
}

/** An array as a driver has parsed it, or the text of PostgreSQL, such as `{admin,"two words"}`. */
function listOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value as string[]
  const items = String(value).matchAll(/"((?:[^"\\]|\\.)*)"|[^{},]+/g)
  return Array.from(items, ([bare, quoted]) => quoted?.replace(/\\(.)/gs, '$1') ?? bare)
}

/** Columns of the table, and what a user has in their place: a column of the app with such a name is not shown. */
const own = new Set(
  'id email password name roles second_factor disabled_at created_at fastify_authn_cursor secondFactor disabledAt createdAt __proto__'.split(
    ' ',
  ),
)

/** A row of the table, whose columns have names of SQL. Columns of the app stay as they are. @throws TypeError */
export function userOf(row: Row): UserRow {
  // Without it, a disabled user could log in.
  if (row.disabled_at === undefined)
    throw new TypeError('query() returned a row without the column disabled_at, as SQL names it')
  const user: Record<string, unknown> = {
    id: row.id,
    email: row.email,
    password: row.password,
    name: row.name,
    roles: listOf(row.roles),
    secondFactor: row.second_factor,
    disabledAt: row.disabled_at === null ? null : dateOf(row.disabled_at),
    createdAt: dateOf(row.created_at),
  }
  // Rest syntax takes ten times as long.
  for (const name in row) if (!own.has(name)) user[name] = row[name]
  return user as unknown as UserRow
}

export const identityOf = ({ provider, issuer, subject, created }: Row): UserIdentity => ({
  provider: String(provider),
  issuer: String(issuer),
  subject: String(subject),
  created: dateOf(created),
})
