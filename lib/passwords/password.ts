import * as Type from '@sinclair/typebox/type'
import { check } from '../options/check.js'
import type { HashParameters } from '../../types/passwords.js'
import { kinds, longestText, profileOf, resolveHashing, type Profile } from './hashing.js'
import type { HashAlgorithmKind } from './kinds/hash-kind.js'
import { HashingQueue } from './queue.js'
import {
  hashInTurn,
  isOutdated,
  parseHash,
  readHash,
  requireText,
  verifyInTurn,
  type Hashing,
} from './verify.js'

let opened: Hashing | undefined

function openHashing(): Hashing {
  if (opened !== undefined) return opened
  const hashing = resolveHashing({})
  const queue = new HashingQueue(hashing.queue)
  return (opened = { ...hashing, profiles: [], queue, maxPasswordBytes: longestText })
}

/**
 * Hashes a password, in the same queue as login and Basic. For scripts: an app has `app.authn.hashPassword`, which knows
 * its options.
 * @param password - its NFC, which is hashed, has 1 to 72 bytes of UTF-8 for bcrypt, else to 512
 * @param parameters - the algorithm, and its parameters; default: bcrypt of cost 10
 * @throws (rejects) ERR_AUTH_OPTION for any other password, for invalid parameters, and without the engine;
 * ERR_AUTH_OVERLOADED (503) when too much hashing waits: in scripts, hash one password after the other;
 * ERR_AUTH_HASHING when the engine fails
 */
export async function hashPassword(
  password: string,
  parameters: HashParameters = {},
): Promise<string> {
  const wanted = wantedOf(parameters)
  return hashInTurn({ wanted, queue: openHashing().queue }, password, longestText)
}

/**
 * Compares a password with a stored hash of bcrypt, argon2id, argon2i or scrypt. For scripts: a false may be fast. An app
 * has `app.authn.verifyPassword`, whose time does not tell why.
 * @param storedHash - anything but a hash, and one of more cost or memory than apps accept by default, is false
 * @throws (rejects) ERR_AUTH_OPTION for a password that is no string, and where the engine of the hash is not installed;
 * ERR_AUTH_OVERLOADED (503) when too much hashing waits; ERR_AUTH_HASHING when the engine fails
 */
export async function verifyPassword(
  password: string,
  storedHash: string | null | undefined,
): Promise<boolean> {
  requireText(password)
  const hashing = openHashing()
  const { hash } = readHash(storedHash, hashing)
  await hash?.kind.load()
  return hash !== null && (await verifyInTurn(hashing, password, hash)) !== null
}

/**
 * Whether a stored hash is weaker than wanted, or of another algorithm. Stronger ones are left alone.
 * @param storedHash - as the user service returns it; what is no hash is true
 * @param parameters - those that new hashes have; default: bcrypt of cost 10
 * @throws ERR_AUTH_OPTION for invalid parameters
 */
export function needsRehash(
  storedHash: string | null | undefined,
  parameters: HashParameters = {},
): boolean {
  return isOutdated(wantedOf(parameters), parseHash(String(storedHash), kinds))
}

function wantedOf(parameters: unknown): Profile<HashAlgorithmKind> {
  const schema = Type.Object({}, { description: 'an object, such as { cost: 12 }' })
  return profileOf(check<object>(schema, parameters, 'parameters'))
}
