import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'

/** bcrypt takes no more than this of a password, in bytes; the rest is ignored. */
export const longestPassword = 72

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
  const { UV_THREADPOOL_SIZE: size } = process.env
  // What is no number is one thread to libuv, which reads it with atoi.
  const poolSize = size === undefined ? 4 : Math.trunc(Number.parseFloat(size)) || 1
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
