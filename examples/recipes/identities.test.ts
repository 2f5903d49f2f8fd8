// program: its own, in npm run test:all
// The app of docs/guides/login-with.md, over PostgreSQL (PGlite).
import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { authnTesting, linkWith, logInWith } from 'fastify-authn/testing'
import t from 'tap'
import { startPostgres } from '../support/embedded-postgres.js'
import { identityRaces, pointPool } from '../../test/helpers/identity-races.js'

const google = 'https://accounts.google.com'
const password = 'a white rabbit in a waistcoat'
const [alice, bob] = ['alice@shop.example', 'bob@shop.example']

const server = await startPostgres()
pointPool(server.connectionString)
process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')
process.env.GOOGLE_CLIENT_SECRET = randomBytes(32).toString('base64url')
const identities = await import('./identities.js')
const { app } = await import('./linking.js')
const { pool, one, schema } = identities
t.teardown(async () => {
  await app.close()
  await pool.end()
  await server.close()
})
await pool.query(schema)
await app.register(authnTesting)
await app.ready()

const jarOf = ({ cookies }: LightMyRequestResponse) => ({
  cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
})

async function enter(email: string) {
  const payload = { email, password }
  return jarOf(await app.inject({ method: 'POST', url: '/login', payload }))
}

async function unlink(subject: string, headers: { cookie: string }): Promise<number> {
  const payload = { issuer: google, subject }
  const request = { method: 'POST', url: '/identities/unlink', payload, headers } as const
  return (await app.inject(request)).statusCode
}

const counts = (): Promise<unknown> =>
  one('select (select count(*) from users) as users, count(*) as identities from identities', [])

t.test('statements that take turns', async (t) => identityRaces(t, identities))

t.test('a new user has the verified address, unless another user has it', async (t) => {
  const emailOf = async (sub: string, claims: object): Promise<unknown> => {
    const { response } = await logInWith(app, 'google', { sub, ...claims })
    t.equal(response.statusCode, 303)
    const found = 'select email from users join identities on user_id = id where subject = $1'
    return (await one(found, [sub])).email
  }
  t.equal(
    await emailOf('a', { email: 'Carol@Shop.example', email_verified: true }),
    'carol@shop.example',
  )
  t.equal(await emailOf('b', { email: 'carol@shop.example', email_verified: true }), null)
  for (const email_verified of [false, 'true', undefined]) {
    t.equal(
      await emailOf(`c ${email_verified}`, { email: 'dave@shop.example', email_verified }),
      null,
    )
  }
  await pool.query('delete from users')
})

t.test('password first, then Google', async (t) => {
  const insert = 'insert into users (email, password) values ($1, $2)'
  for (const email of [alice, bob])
    await pool.query(insert, [email, await app.authn.hashPassword(password)])
  const [hers, his] = [await enter(alice), await enter(bob)]
  for (const what of ['once', 'again']) {
    const { response } = await linkWith(app, 'google', { sub: '7' }, { headers: hers })
    t.equal(response.statusCode, 303, what)
  }
  const taken = await linkWith(app, 'google', { sub: '7' }, { headers: his })
  t.equal(taken.response.statusCode, 409)
  t.equal((await logInWith(app, 'google', { sub: '7' })).response.statusCode, 303)
  t.match(await counts(), { users: 2, identities: 1 }, 'her own account')
  t.equal(await unlink('7', his), 409)
  t.equal(await unlink('7', hers), 204, 'there is the password')
})

t.test('Google first: it cannot be unlinked, nor by an old login', async (t) => {
  const { headers } = await logInWith(app, 'google', { sub: '8' })
  t.match(await counts(), { users: 3, identities: 1 })
  t.equal(await unlink('8', headers), 409)
  const now = Date.now()
  t.intercept(Date, 'now', { value: () => now + 601_000 })
  const refreshed = await app.inject({ method: 'POST', url: '/login/refresh', headers })
  t.equal(await unlink('8', jarOf(refreshed)), 401)
  t.match(await counts(), { users: 3, identities: 1 })
})
