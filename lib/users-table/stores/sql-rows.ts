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

/** A row of the table, whose columns have names of SQL. Columns of the app stay as they are. */
export function userOf(row: Row): UserRow {
  const {
    second_factor: factor,
    disabled_at: disabled,
    created_at: created,
    fastify_authn_cursor,
    ...user
  } = row
  return {
    ...(user as unknown as UserRow),
    roles: listOf(user.roles),
    secondFactor: factor as string | null,
    disabledAt: disabled === null ? null : dateOf(disabled),
    createdAt: dateOf(created),
  }
}

export const identityOf = ({ provider, issuer, subject, created }: Row): UserIdentity => ({
  provider: String(provider),
  issuer: String(issuer),
  subject: String(subject),
  created: dateOf(created),
})
