import { createHash, pbkdf2, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import { promisify } from 'node:util'
import bcrypt from 'bcrypt'
import type { ForeignHash } from 'fastify-authn'

const pbkdf2Key = promisify(pbkdf2)

export const djangoPbkdf2: ForeignHash = {
  pattern: /^pbkdf2_sha256\$\d{1,7}\$[^$]+\$[\dA-Za-z+/]{43}=$/,
  sample: `pbkdf2_sha256$1000000$sample$${'A'.repeat(43)}=`,
  async verify(password, storedHash) {
    const [, iterations, salt = '', key = ''] = storedHash.split('$')
    const found = await pbkdf2Key(password, salt, Number(iterations), 32, 'sha256')
    return timingSafeEqual(found, Buffer.from(key, 'base64'))
  },
}

export const djangoBcryptSha256: ForeignHash = {
  pattern: /^bcrypt_sha256\$\$2b\$\d\d\$[\dA-Za-z./]{53}$/,
  sample: `bcrypt_sha256$$2b$12$${'.'.repeat(53)}`,
  verify(password, storedHash) {
    const digest = createHash('sha256').update(password).digest('hex')
    return bcrypt.compare(digest, storedHash.slice('bcrypt_sha256$'.length))
  },
}

export const werkzeugPbkdf2: ForeignHash = {
  pattern: /^pbkdf2:sha256:\d{1,7}\$[^$]+\$[\da-f]{64}$/,
  sample: `pbkdf2:sha256:1000000$sample$${'0'.repeat(64)}`,
  async verify(password, storedHash) {
    const [method = '', salt = '', key = ''] = storedHash.split('$')
    const iterations = Number(method.split(':')[2])
    const found = await pbkdf2Key(password, salt, iterations, 32, 'sha256')
    return timingSafeEqual(found, Buffer.from(key, 'hex'))
  },
}

const scryptKey = promisify<string, string, number, ScryptOptions, Buffer>(scrypt)

export const betterAuth: ForeignHash = {
  pattern: /^[\da-f]{32}:[\da-f]{128}$/,
  sample: `${'0'.repeat(32)}:${'0'.repeat(128)}`,
  async verify(password, storedHash) {
    const [salt = '', key = ''] = storedHash.split(':')
    const options = { N: 2 ** 14, r: 16, p: 1, maxmem: 2 ** 26 }
    // The salt is the hexadecimal text itself.
    const found = await scryptKey(password.normalize('NFKC'), salt, 64, options)
    return timingSafeEqual(found, Buffer.from(key, 'hex'))
  },
}
