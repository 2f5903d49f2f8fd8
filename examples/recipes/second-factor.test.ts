// program: its own, in npm run test:all
// The app of docs/guides/second-factor.md, over PostgreSQL (PGlite), and what an attacker would try there.
import { randomBytes } from 'node:crypto'
import bcrypt from 'bcrypt'
import t from 'tap'
import { totpCode } from 'fastify-authn/testing'
import { database } from './database.js'

process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')
process.env.SECOND_FACTOR_KEY = randomBytes(64).toString('base64url')
process.env.PORT = '0'
const { app } = await import('./second-factor.js')
t.teardown(async () => {
  await app.close()
  await database.close()
})

const login = { email: 'alice@example.com', password: 'wonderland' }

async function post(url: string, payload: object, cookie = '') {
  const response = await app.inject({ method: 'POST', url, payload, headers: { cookie } })
  const cookies = response.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const isJson = response.body.startsWith('{')
  const body = (isJson ? response.json() : {}) as never
  return { status: response.statusCode, cookies, body }
}

t.test('a code comes after the password, and opens what is marked', async (t) => {
  await database.exec('alter table users add "secondFactor" text')
  const values = [login.email, bcrypt.hashSync(login.password, 4)]
  await database.query('insert into users (email, password) values ($1, $2)', values)
  const first = await post('/login', login)
  t.equal(first.status, 200)
  t.equal((await post('/transfers', {}, first.cookies)).status, 401)
  const setup: { secret: string; token: string } = (
    await post('/second-factor/setup', {}, first.cookies)
  ).body
  const code = totpCode(setup.secret)
  const enabled = await post('/second-factor/enable', { ...setup, code }, first.cookies)
  t.equal(enabled.status, 200)
  t.equal((await post('/transfers', {}, enabled.cookies)).status, 200)
  const { recoveryCodes }: { recoveryCodes: string[] } = enabled.body
  const next = await post('/login', login)
  t.equal(next.status, 202)
  const { token }: { token: string } = (next.body as { secondFactor: never }).secondFactor
  const all = [1, 2, 3].map(() => post('/login/second-factor', { token, code: recoveryCodes[0] }))
  const statuses = (await Promise.all(all)).map(({ status }) => status)
  const found = statuses.toSorted((a, b) => a - b)
  t.strictSame(found, [200, 403, 403])
})
