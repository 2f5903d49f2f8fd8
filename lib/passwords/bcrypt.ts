import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'

/** bcrypt uses this many bytes of a password and ignores the rest. */
export const longestPassword = 72

/**
 * Makes a hash that no password matches. An unknown user is compared with it, so that the refusal takes as long as
 * for a wrong password.
 *
 * @param seed - the same seed gives the same hash
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
  // libuv reads the variable with atoi(): a text that is no number means one thread.
  const poolSize = size === undefined ? 4 : Math.trunc(Number.parseFloat(size)) || 1
  return Math.max(1, Math.min(availableParallelism(), poolSize - 1))
}

/** Compares, in the thread pool. The variants differ in name only, and the engine knows `2a` and `2b`. */
export function compare(password: string, hash: string): Promise<boolean> {
  return bcrypt.compare(password, hash.replace(/^\$2y/, '$2b'))
}

/**
 * Does what a comparison with a hash of cost `from` lacks of the work of cost `to`: comparisons of the costs
 * `from` to `to - 1`, since 2^from + 2^from + 2^(from + 1) + … + 2^(to - 1) = 2^to.
 *
 * @param seed - see {@link dummyHash}
 */
export async function makeUp(
  password: string,
  from: number,
  to: number,
  seed: string,
): Promise<void> {
  for (let cost = from; cost < to; cost += 1) await compare(password, dummyHash(cost, seed))
}

/** Hashes, in the thread pool. */
export function hash(password: string, cost: number): Promise<string> {
  return bcrypt.hash(password, cost)
}
