// program: its own, in npm run test:all
// The app of docs/guides/accounts.md, over PostgreSQL (PGlite), from the sign-up to what an attacker would try.
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { isNotLeaked } from './leaked-passwords.js'
import { database } from './database.js'
import { outbox, subjects, type Letter } from './mailer.js'

process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')
process.env.PORT = '0'
const { app } = await import('./accounts.js')
t.teardown(async () => {
  await app.close()
  await database.close()
})

const password = 'a white rabbit in a waistcoat'
const cookiesOf = ({ cookies }: LightMyRequestResponse): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
const statusesOf = (all: readonly LightMyRequestResponse[]): number[] =>
  all.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)
const tokenIn = (letter: Letter | undefined): string => letter?.text?.split('#')[1] ?? ''

async function post(url: string, payload: object, cookie = '') {
  const response = await app.inject({ method: 'POST', url, payload, headers: { cookie } })
  await app.authn.accounts.settled()
  return response
}
const me = async (cookie: string) => app.inject({ url: '/me', headers: { cookie } })
const letters = (): Letter[] => outbox.splice(0)
const kindsOf = (all: readonly Letter[]) => all.map(({ to, subject }) => `${subject}: ${to}`)

async function signUp(email: string): Promise<string> {
  letters()
  await post('/sign-up', { email })
  const [letter] = letters()
  return cookiesOf(await post('/sign-up/finish', { token: tokenIn(letter), password }))
}

t.test('a user signs up, and the link works once', async (t) => {
  const response = await post('/sign-up', { email: ' Alice@Shop.Example ' })
  t.strictSame([response.statusCode, response.json()], [202, {}])
  const [letter, ...others] = letters()
  t.strictSame(others, [])
  t.match(letter, { to: 'alice@shop.example', subject: subjects['sign-up'] })
  t.match(letter?.text, /^https:\/\/shop\.example\/account\/sign-up#[\w.-]+$/)

  const token = tokenIn(letter)
  t.equal((await database.query('select * from users')).rows.length, 0, 'no account yet')
  t.equal((await post('/sign-up/finish', { token, password: 'too short' })).statusCode, 400)
  const all = await Promise.all(
    Array.from({ length: 5 }, () => post('/sign-up/finish', { token, password })),
  )
  const done = all.find(({ statusCode }) => statusCode === 200) ?? response
  t.strictSame(statusesOf(all), [200, 400, 400, 400, 400])
  t.strictSame((await me(cookiesOf(done))).json(), { id: 1, email: 'alice@shop.example' })
})

t.test('a change of the address needs the password and the new mailbox', async (t) => {
  const cookie = await signUp('dora@shop.example')
  const stranger = await signUp('eve@shop.example')
  letters()
  const body = { email: 'dora@new.example', currentPassword: password }
  t.equal((await post('/email/change', body, cookie)).statusCode, 202)
  const [confirm, warning] = letters()
  t.strictSame(kindsOf([confirm, warning] as Letter[]), [
    `${subjects['email-confirm']}: dora@new.example`,
    `${subjects['email-change']}: dora@shop.example`,
  ])
  const token = tokenIn(confirm)
  t.equal((await post('/email/confirm', { token })).statusCode, 401)
  t.equal((await post('/email/confirm', { token }, stranger)).statusCode, 400)
  t.equal((await post('/email/confirm', { token }, cookie)).statusCode, 204)
  t.strictSame(kindsOf(letters()), [`${subjects['email-changed']}: dora@shop.example`])
  t.match((await me(cookie)).json(), { email: 'dora@new.example' })
  const undo = await post('/password/reset', {
    token: tokenIn(warning),
    password: 'too late now 123',
  })
  t.equal(undo.statusCode, 400, 'the way out is open until the change is confirmed')
})

t.test('a user without an address gets one, and without a password a first one', async (t) => {
  const cookie = await signUp('finn@shop.example')
  await database.query('update users set email = null, password = null where email = $1', [
    'finn@shop.example',
  ])
  letters()
  t.equal((await post('/password/set', {}, cookie)).statusCode, 403)
  const email = 'finn@new.example'
  t.equal((await post('/email/change', { email }, cookie)).statusCode, 202)
  const [confirm, ...others] = letters()
  t.strictSame(others, [])
  const moved = await post('/email/confirm', { token: tokenIn(confirm) }, cookie)
  t.equal(moved.statusCode, 204)
  t.equal((await post('/password/set', {}, cookie)).statusCode, 202)
  const [letter] = letters()
  t.match(letter, { to: email, subject: subjects['set-password'] })
  t.match(letter?.text, /^https:\/\/shop\.example\/account\/set#[\w.-]+$/)
  const first = { token: tokenIn(letter), password }
  const all = await Promise.all([1, 2, 3].map(() => post('/password/change', first, cookie)))
  // The first one has replaced the session in which the others were sent.
  t.match(statusesOf(all), [200, /40[01]/, /40[01]/])
  t.equal((await post('/login', { email, password })).statusCode, 200)
})

t.test('leaked passwords are found by five digits of a digest', async (t) => {
  const digest = createHash('sha1').update('password').digest('hex').toUpperCase()
  const asked: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    asked.push(url)
    if (url?.startsWith('/down/')) response.statusCode = 503
    response.end(`0018A45C4D1DEF81644B54AB7F969B88D65:3\r\n${digest.slice(5)}:46628605\r\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.equal(await isNotLeaked('password', `${origin}/range`), false)
  t.equal(await isNotLeaked('a white rabbit in a waistcoat', `${origin}/range`), true)
  t.match(asked, ['/range/5BAA6', /^\/range\/[\dA-F]{5}$/])
  await t.rejects(isNotLeaked('password', `${origin}/down`), { message: /503/ })
})
