// The entry of docs/guides/coming-from-express-passport.md.
import { pbkdf2Sync, randomBytes } from 'node:crypto'
import Fastify from 'fastify'
import { authn } from 'fastify-authn'
import t from 'tap'
import { passportLocalMongoose } from './passport-local-mongoose.js'

t.test('a user of passport-local-mongoose logs in', async (t) => {
  // As the package stores them: the salt is used as text.
  const salt = randomBytes(32).toString('hex')
  const hash = pbkdf2Sync('wonderland', salt, 25_000, 512, 'sha256').toString('hex')
  const user = { id: 1, email: 'alice@example.com', password: `plm:${salt}:${hash}` }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, {
    userService: { findByUsername: () => user },
    jwt: { secret: randomBytes(64) },
    hashing: { migrateFrom: [passportLocalMongoose] },
  })
  for (const [password, status] of [
    ['wonderland', 200],
    ['looking-glass', 401],
  ] as const) {
    const payload = { username: 'alice', password }
    t.equal((await app.inject({ method: 'POST', url: '/login', payload })).statusCode, status)
  }
})
