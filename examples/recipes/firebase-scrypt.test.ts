// What the console of Firebase shows, and a user as `firebase auth:export` writes it: the example of Firebase's own scrypt.
import Fastify from 'fastify'
import { authn } from 'fastify-authn'
import t from 'tap'
import { firebaseScrypt } from './firebase-scrypt.js'

const entry = firebaseScrypt({
  base64_signer_key:
    'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
  base64_salt_separator: 'Bw==',
  rounds: 8,
  mem_cost: 14,
})
const exported = {
  salt: '42xEC+ixf3L2lw==',
  passwordHash:
    'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
}
const stored = `firebase:${exported.salt}:${exported.passwordHash}`

t.test('a hash of Firebase verifies its password only', async (t) => {
  t.match(stored, entry.pattern)
  t.match(entry.sample, entry.pattern)
  t.equal(await entry.verify('user1password', stored), true)
  const listed = stored.replaceAll('+', '-').replaceAll('/', '_')
  t.match(listed, entry.pattern)
  t.equal(await entry.verify('user1password', listed), true, 'as the Admin SDK lists it')
  t.equal(await entry.verify('user2password', stored), false)
  t.equal(await entry.verify('user1password', entry.sample), false)
  t.equal(await entry.verify('user1password', stored.replace('42xE', '42xF')), false)
})

t.test('users of Firebase and of Auth0 log in with their passwords', async (t) => {
  const rows = new Map([
    ['firebase', { id: 1, email: 'firebase', password: stored }],
    // Of Auth0: bcrypt of cost 10.
    [
      'auth0',
      {
        id: 2,
        email: 'auth0',
        password: '$2b$10$9wot1NUmYuxLj9.gd9bA..y.a6kEWTsDPZbMDDGuZCJWZT/wEQvZm',
      },
    ],
  ])
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, {
    userService: { findByUsername: (name) => rows.get(String(name)) },
    jwt: { secret: 'a secret of this test alone, which no app shares' },
    hashing: { migrateFrom: [entry] },
  })
  const logIn = async (username: string, password: string) => {
    const payload = { username, password }
    return (await app.inject({ method: 'POST', url: '/login', payload })).statusCode
  }
  t.equal(await logIn('firebase', 'user1password'), 200)
  t.equal(await logIn('firebase', 'wrong'), 401)
  t.equal(await logIn('auth0', 'wonderland'), 200)
})
