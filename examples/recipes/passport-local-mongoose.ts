import { pbkdf2, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { ForeignHash } from 'fastify-authn'

const pbkdf2Key = promisify(pbkdf2)

/** For `plm:<salt>:<hash>`. */
export const passportLocalMongoose: ForeignHash = {
  pattern: /^plm:[\da-f]+:[\da-f]{1024}$/,
  sample: `plm:00:${'00'.repeat(512)}`,
  async verify(password, storedHash) {
    const [, salt = '', hash = ''] = storedHash.split(':')
    const found = await pbkdf2Key(password, salt, 25_000, 512, 'sha256')
    return timingSafeEqual(found, Buffer.from(hash, 'hex'))
  },
}
