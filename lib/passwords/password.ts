import { wrongOption } from '../errors/errors.js'
import { costOf, hash, isBcryptHash, loadBcrypt, longestPassword } from './bcrypt.js'
import { HashingQueue } from './queue.js'
import { defaults } from '../options/defaults.js'

let queue: HashingQueue | undefined

/**
 * Hashes a password with bcrypt, in the same queue as login and Basic.
 *
 * @param password - 1 to 72 bytes of UTF-8
 * @param options - `cost`: binary logarithm of the rounds, 4 to 31; default 10
 * @returns the hash to store
 * @throws ERR_AUTH_OPTION for an empty password, one that bcrypt would cut, or an invalid cost;
 * ERR_AUTH_OVERLOADED (503) when too much hashing waits: in scripts, hash one password after the other
 */
export async function hashPassword(
  password: string,
  { cost = defaults.hashing.cost }: { cost?: number } = {},
): Promise<string> {
  const bytes = typeof password === 'string' ? Buffer.byteLength(password) : 0
  if (bytes < 1 || bytes > longestPassword) {
    wrongOption(
      `hashPassword: found ${bytes} bytes of text, expected a password of 1 to ${longestPassword} bytes (bcrypt ignores what comes after).`,
    )
  }
  checkCost(cost)
  await loadBcrypt()
  queue ??= new HashingQueue(defaults.hashing)
  return queue.run(() => hash(password, cost))
}

/**
 * Whether a stored hash is weaker than wanted.
 *
 * @param storedHash - as the user service returns it
 * @param cost - the cost that new hashes have; default 10
 * @returns true for a hash of a lower cost, and for anything but a bcrypt hash
 * @throws ERR_AUTH_OPTION for an invalid cost
 */
export function needsRehash(storedHash: string, cost: number = defaults.hashing.cost): boolean {
  checkCost(cost)
  return !isBcryptHash(storedHash) || costOf(storedHash) < cost
}

function checkCost(cost: number): void {
  if (Number.isInteger(cost) && cost >= 4 && cost <= 31) return
  wrongOption(`option "cost": found ${String(cost)}, expected a whole number from 4 to 31.`)
}
