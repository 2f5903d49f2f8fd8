// program: its own, in npm run test:all
// The program of docs/guides/login-on-a-phone.md: what the browser, the app and others send.
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { authnTesting, logInWith } from 'fastify-authn/testing'
import { usersSchema } from '../../lib/users-table/stores/sql-schema.js'
import { database } from './database.js'

process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')
process.env.GOOGLE_ID = process.env.GOOGLE_SECRET = 'x'
await database.exec(`DROP TABLE passkeys; DROP TABLE users; ${usersSchema('shop')}`)
const { app } = await import('./phone-login.js')
await app.register(authnTesting)
await app.ready()
t.teardown(async () => {
  await app.close()
  await database.close()
})

const verifier = randomBytes(32).toString('base64url')
const challenge = createHash('sha256').update(verifier).digest('base64url')
const returnTo = `/app/code?challenge=${challenge}`
const claims = { sub: '7', email: 'dora@shop.example', email_verified: true }

async function newCode(): Promise<string> {
  const { response, headers } = await logInWith(app, 'google', claims, { returnTo })
  t.equal(response.headers.location, returnTo)
  const { statusCode, headers: found } = await app.inject({ url: returnTo, headers })
  t.equal(statusCode, 303)
  const [address, code = ''] = String(found.location).split('#')
  t.equal(address, 'https://app.shop.example/logged-in')
  return code
}
const exchange = async (body: object, headers = {}) =>
  app.inject({
    method: 'POST',
    url: '/app/session',
    payload: body,
    headers: { 'token-delivery': 'body', ...headers },
  })

t.test('the app gets a session of its own', async (t) => {
  const code = await newCode()
  const response = await exchange({ code, verifier })
  t.equal(response.statusCode, 200)
  const { token, refreshToken } = response.json<{ token: string; refreshToken: string }>()
  t.ok(refreshToken)
  const headers = { authorization: `Bearer ${token}` }
  t.equal((await app.inject({ url: '/identities', headers })).statusCode, 200)
  t.equal((await exchange({ code, verifier })).statusCode, 401, 'the code works once')
})

t.test('a code alone is worth nothing', async (t) => {
  const code = await newCode()
  t.equal((await exchange({ code, verifier: 'of another app' })).statusCode, 401)
  t.equal((await exchange({ code })).statusCode, 401)
  t.equal((await exchange({ verifier })).statusCode, 401)
  const headers = { authorization: `Bearer ${code}` }
  t.equal((await app.inject({ url: '/identities', headers })).statusCode, 401, 'it is no token')
  const inPage = await exchange({ code, verifier }, { 'sec-fetch-site': 'same-origin' })
  t.equal(inPage.statusCode, 400, 'a page gets no tokens')
})

t.test('the browser gets a code only after a login of the last minute', async (t) => {
  t.equal((await app.inject(returnTo)).statusCode, 401)
  const { headers } = await logInWith(app, 'google', claims, { returnTo })
  t.equal((await app.inject({ url: '/app/code?challenge=short', headers })).statusCode, 400)
})
