import { createHash } from 'node:crypto'
import t from 'tap'
import { isDerived } from '../../../lib/jwt/ring/derived.js'

const secret = 'q7wT2mVx9KcR4nZs8LpYf3HbJ6dGuA5e'
const digest = (name: string, encoding: 'hex' | 'base64' | 'base64url') =>
  createHash(name).update(secret).digest(encoding)

t.test('names that say something about the secret', async (t) => {
  const jwk = JSON.stringify({ k: Buffer.from(secret).toString('base64url'), kty: 'oct' })
  const names = [
    secret,
    secret.slice(4, 12),
    `key ${secret}`,
    Buffer.from(secret).toString('base64url'),
    digest('sha256', 'hex'),
    digest('sha256', 'hex').toUpperCase(),
    digest('sha256', 'hex').slice(0, 8),
    `hs256-${digest('sha256', 'base64url')}`,
    digest('sha256', 'base64'),
    digest('sha1', 'hex'),
    digest('md5', 'hex').replace(/(..)(?!$)/g, '$1:'),
    digest('sha512', 'base64url'),
    createHash('sha256').update(jwk).digest('base64url'),
  ]
  for (const name of names) {
    t.ok(isDerived(name, secret), name)
    t.ok(isDerived(name, Buffer.from(secret)), name)
  }
})

t.test('names that say nothing about it', async (t) => {
  for (const name of ['2027-01', 'k', 'hs256', 'shared-secret-of-2027', secret.slice(0, 2)]) {
    t.notOk(isDerived(name, secret), name)
  }
})
