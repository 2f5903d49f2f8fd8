// program: its own, in npm run test:all
// The program of docs/guides/migrating-hashes.md for users with an authenticator app of another system.
import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { hashPassword } from 'fastify-authn'
import { totpCode } from 'fastify-authn/testing'
import { database, one } from './database.js'

process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')
process.env.SECOND_FACTOR_KEY = randomBytes(32).toString('base64url')
process.env.PORT = '0'
const old = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const password = 'a white rabbit in a waistcoat'
await database.exec(`alter table users add "secondFactor" text, add old_totp text,
  add old_totp_tries int not null default 0`)
const insert = 'insert into users (email, password, old_totp) values ($1, $2, $3)'
const emails = ['alice@shop.example', 'bob@shop.example', 'carol@shop.example']
for (const email of emails)
  await one(insert, [email, await hashPassword(password), email.startsWith('carol') ? null : old])
const { app } = await import('./old-totp.js')
t.teardown(async () => {
  await app.close()
  await database.close()
})
const cookieOf = ({ cookies }: LightMyRequestResponse): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
const post = async (url: string, payload: object, cookie = '') =>
  app.inject({ method: 'POST', url, payload, headers: { cookie } })

t.test('the code of the old app logs in, until there is a new one', async (t) => {
  const [email] = emails
  t.equal((await post('/login', { email, password })).statusCode, 401)
  t.equal((await post('/login', { email, password: 'wrong', code: totpCode(old) })).statusCode, 401)
  const wrong = await post('/login', { email, password, code: '000000' })
  t.match([wrong.statusCode, wrong.json()], [401, { error: /wrong/ }])
  const login = await post('/login', { email, password, code: totpCode(old) })
  t.equal(login.statusCode, 200)
  const cookie = cookieOf(login)
  t.equal((await post('/login/refresh', {}, cookie)).statusCode, 200, 'without a code')

  const fresh = cookieOf(await post('/login', { email, password, code: totpCode(old) }))
  const { secret, token } = (await post('/second-factor/setup', {}, fresh)).json<{
    secret: string
    token: string
  }>()
  const code = totpCode(secret)
  t.equal((await post('/second-factor/enable', { token, code }, fresh)).statusCode, 200)
  t.equal((await post('/login', { email, password, code: totpCode(old) })).statusCode, 202)
})

t.test('five wrong codes end the tries, also at once', async (t) => {
  const email = emails[1]
  const guesses = Array.from({ length: 8 }, (_, at) =>
    post('/login', { email, password, code: String(at).padStart(6, '0') }),
  )
  for (const { statusCode } of await Promise.all(guesses)) t.equal(statusCode, 401)
  t.equal((await post('/login', { email, password, code: totpCode(old) })).statusCode, 401)
})

t.test('without an old app, there is no code', async (t) => {
  t.equal((await post('/login', { email: emails[2], password })).statusCode, 200)
})
