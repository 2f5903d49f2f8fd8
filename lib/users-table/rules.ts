import { controlCharacter } from '../http/authorization.js'
import { emailOf } from '../mail/email.js'
import type { UserRow, WaysIn } from '../../types/users.js'

const isText = (value: unknown, least: number, most: number): value is string =>
  typeof value === 'string' &&
  value.length >= least &&
  value.length <= most &&
  value.isWellFormed() &&
  !controlCharacter.test(value)

/** What errors say that is expected. */
export const nameRule = 'at most 200 characters, without control characters'
export const rolesRule = 'at most 100, each of 1 to 100 characters, without control characters'

export const isUserName = (value: unknown): value is string | null =>
  value === null || isText(value, 0, 200)

export const areRoles = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length <= 100 && value.every((each) => isText(each, 1, 100))

/** Whether a store may get a value: databases fail at NUL and at half of a surrogate pair. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).flat().every(isStorable)
}

/** Whether a text is a UUID as the plugin makes them. */
export const isUserId = (text: string): boolean =>
  typeof text === 'string' && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(text)

const own = new Set(['id', 'email', 'password', 'secondfactor', 'disabledat', 'createdat'])

/** Whether a name is that of a column that the package defines, however it is spelled. */
export const isOwnColumn = (name: string): boolean =>
  own.has(name.toLowerCase().replace(/[_-]/g, ''))

/** See {@link WaysIn}; null where no identity or passkey is the last way in. */
export const waysLeft = (ways: WaysIn, byMail: boolean, { email }: Pick<UserRow, 'email'>) =>
  byMail && email !== null && emailOf(email) === email ? null : ways
