import { createHash } from 'node:crypto'

/** bcrypt uses this many bytes of a password and ignores the rest. */
export const longestPassword = 72

let bcrypt: typeof import('bcrypt')

/** Has to be awaited before anything is compared or hashed. Apps with tokens alone do not load the package. */
export async function loadBcrypt(): Promise<void> {
  bcrypt ??= (await import('bcrypt')).default
}

/** @param hash - for which {@link isBcryptHash} holds */
export function costOf(hash: string): number {
  return Number(hash.slice(4, 6))
}

/** A hash that no password matches, always the same for a name, so that unknown users take as long as known ones. */
export function dummyHash(cost: number, username: string): string {
  const letters = createHash('sha512').update(username).digest('base64').replaceAll('+', '.')
  return `$2b$${String(cost).padStart(2, '0')}$${letters.slice(0, 53)}`
}

/** bcrypt knows `$2a$` and `$2b$`; the `$2y$` of PHP differs in name only. */
export function compare(password: string, hash: string): Promise<boolean> {
  return bcrypt.compare(password, hash.replace(/^\$2y/, '$2b'))
}

/**
 * After a comparison of cost `from`, does the rest of the work of cost `to`: comparisons of the costs `from` to `to -
 * 1`, since 2^from + 2^from + 2^(from + 1) + … + 2^(to - 1) = 2^to.
 */
export async function padToCost(password: string, from: number, to: number): Promise<void> {
  for (let cost = from; cost < to; cost += 1) await compare(password, dummyHash(cost, ''))
}

export function hash(password: string, cost: number): Promise<string> {
  return bcrypt.hash(password, cost)
}

/** `$2b$` (`$2y$` of PHP), two digits of cost, 22 characters of salt, 31 of digest. */
const hashShape = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/

export function isBcryptHash(value: unknown): value is string {
  return typeof value === 'string' && value.length === 60 && hashShape.test(value)
}
