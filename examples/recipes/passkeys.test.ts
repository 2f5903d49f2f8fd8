// program: its own, in npm run test:all
// The app of docs/guides/passkeys.md, over PostgreSQL (PGlite).
import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { hashPassword } from 'fastify-authn'
import { database, one } from './database.js'
import { virtualPasskey } from 'fastify-authn/testing'

process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')
process.env.PORT = '0'
const { app } = await import('./passkeys.js')
t.teardown(async () => {
  await app.close()
  await database.close()
})

const password = 'a white rabbit in a waistcoat'
const email = 'alice@shop.example'
const browser = () => virtualPasskey({ origin: 'https://shop.example', rpId: 'shop.example' })
const cookieOf = ({ cookies }: LightMyRequestResponse): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
const post = async (url: string, payload: object, cookie = '') =>
  app.inject({ method: 'POST', url, payload, headers: { cookie } })
const ask = async (url: string, cookie = '') =>
  (await post(url, {}, cookie)).json<{ token: string; publicKey: object }>()

t.test('a user adds a passkey, logs in with it and removes it', async (t) => {
  const hash = await hashPassword(password, { cost: 4 })
  await one('insert into users (email, password) values ($1, $2)', [email, hash])
  const cookie = cookieOf(await post('/login', { email, password }))
  t.equal((await post('/transfers', {}, cookie)).statusCode, 401)
  const passkey = browser()
  const added = await ask('/passkeys/options', cookie)
  const body = { token: added.token, response: passkey.create(added.publicKey), name: 'Phone' }
  t.equal((await post('/passkeys', body, cookie)).statusCode, 201)
  const { token, publicKey } = await ask('/login/passkey/options')
  const response = passkey.get(publicKey)
  const all = await Promise.all(
    Array.from({ length: 5 }, () => post('/login/passkey', { token, response })),
  )
  const won = all.filter(({ statusCode }) => statusCode === 200)
  t.equal(won.length, 1, 'update compares')
  const own = won.map(cookieOf).join()
  t.match((await post('/transfers', {}, own)).json(), { email })
  t.equal((await post('/passkeys', body, own)).statusCode, 403, 'on conflict do nothing')
  const { id } = passkey.get(publicKey)
  t.equal((await post('/passkeys/rename', { id, name: 'My phone' }, own)).statusCode, 204)
  const { passkeys } = (await app.inject({ url: '/passkeys', headers: { cookie: own } })).json<{
    passkeys: object[]
  }>()
  t.match(passkeys, [{ id, name: 'My phone' }])
  t.equal((await post('/passkeys/remove', { id }, own)).statusCode, 204)
  t.strictSame((await database.query('select * from passkeys')).rows, [])
})
