import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'

/** `$2b$`, two digits of cost, 22 characters of salt, 31 of digest. */
const hashShape = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/

/** bcrypt takes no more than this of a password, in bytes; the rest is ignored. */
export const longestPassword = 72

/** Whether a value is a bcrypt hash, of PHP (`$2y$`) too. */
export function isBcryptHash(value: unknown): value is string {
  return typeof value === 'string' && hashShape.test(value)
}

/** The cost of a hash that {@link isBcryptHash}: the binary logarithm of its rounds. */
export function costOf(hash: string): number {
  return Number(hash.slice(4, 6))
}

/**
 * A hash that no password has: bcrypt runs in full before it compares, so that an unknown user costs what
 * a wrong password costs.
 *
 * @param seed - another one gives another hash, the same one the same
 */
export function dummyHash(cost: number, seed: string): string {
  const letters = createHash('sha512').update(seed).digest('base64').replaceAll('+', '.')
  return `$2b$${String(cost).padStart(2, '0')}$${letters.slice(0, 53)}`
}

/**
 * How many hashes run at once in the thread pool of libuv: one a core, and always one thread less than
 * the pool has, so that file and DNS work of the app is never behind them (`UV_THREADPOOL_SIZE`, default 4).
 */
export function defaultConcurrency(): number {
  const poolSize = Number(process.env.UV_THREADPOOL_SIZE) || 4
  return Math.max(1, Math.min(availableParallelism(), poolSize - 1))
}

/** Compares, in the thread pool. The variants differ in name only, and the engine knows `2a` and `2b`. */
export function compare(password: string, hash: string): Promise<boolean> {
  return bcrypt.compare(password, hash.replace(/^\$2y/, '$2b'))
}

/** Hashes, in the thread pool. */
export function hash(password: string, cost: number): Promise<string> {
  return bcrypt.hash(password, cost)
}
