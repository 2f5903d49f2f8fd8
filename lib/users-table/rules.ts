import { controlCharacter } from '../http/authorization.js'
import { emailOf } from '../mail/email.js'

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
  const left = [value]
  // A profile may be deeper than a function can call itself.
  for (const each of left) {
    if (typeof each === 'string' && !(each.isWellFormed() && !each.includes('\0'))) return false
    if (typeof each === 'object' && each !== null)
      for (const [name, member] of Object.entries(each)) left.push(name, member)
  }
  return true
}

/** Whether a text is a UUID as the plugin makes them. */
export const isUserId = (text: string): boolean =>
  typeof text === 'string' && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(text)

const own = new Set(['id', 'email', 'password', 'secondfactor', 'disabledat', 'createdat'])

/** Whether a name is that of a column that the package defines, however it is spelled. */
export const isOwnColumn = (name: string): boolean =>
  own.has(name.toLowerCase().replace(/[_-]/g, ''))

/** Whether e-mails to log in are sent to an address. */
export const isReachable = (email: string | null): boolean =>
  email !== null && emailOf(email) === email
