import { createCipheriv, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import { promisify } from 'node:util'
import type { ForeignHash } from 'fastify-authn'

const scryptKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** The _Password hash parameters_ of the project, in the Firebase console. */
export interface FirebaseParameters {
  readonly base64_signer_key: string
  readonly base64_salt_separator: string
  readonly rounds: number
  readonly mem_cost: number
}

/** Hashes of `firebase auth:export`, stored as `firebase:<salt>:<passwordHash>`. */
export function firebaseScrypt(parameters: FirebaseParameters): ForeignHash {
  const signerKey = Buffer.from(parameters.base64_signer_key, 'base64')
  const separator = Buffer.from(parameters.base64_salt_separator, 'base64')
  const [N, r] = [2 ** parameters.mem_cost, parameters.rounds]
  return {
    pattern: /^firebase:[\w+/-]{8,}={0,2}:[\w+/-]{80,}={0,2}$/,
    sample: `firebase:${'A'.repeat(14)}==:${'A'.repeat(86)}==`,
    async verify(password, storedHash) {
      const [, salt = '', hash = ''] = storedHash.split(':')
      const fullSalt = Buffer.concat([Buffer.from(salt, 'base64'), separator])
      const key = await scryptKey(password, fullSalt, 32, { N, r, p: 1, maxmem: 256 * N * r })
      // The hash is the signer key of the project, encrypted with what scrypt makes of the password.
      const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16))
      const found = Buffer.concat([cipher.update(signerKey), cipher.final()])
      const stored = Buffer.from(hash, 'base64')
      return found.length === stored.length && timingSafeEqual(found, stored)
    },
  }
}
