// program: its own, in npm run test:all
// The shop of docs/guides/users.md, over PostgreSQL (PGlite): what its recipes do together.
import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { totpCode } from 'fastify-authn/testing'
import { apiKeysSchema } from '../../lib/api-keys/stores/sql.js'
import '../../types/authn.js'
import { sqlSchema } from '../../lib/sessions/stores/sql-schema.js'
import { usersSchema } from '../../lib/users-table/stores/sql-schema.js'
import { schema } from './audit-log.js'
import { all, database } from './database.js'
import { outbox, subjects } from './mailer.js'

process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')
process.env.SECOND_FACTOR_KEY = randomBytes(32).toString('base64url')
process.env.GOOGLE_ID = process.env.GOOGLE_SECRET = 'x'
process.env.PORT = '0'
// The service that lists leaked passwords has one, by its digest.
const leaked = 'a leaked password of ours'
globalThis.fetch = async (request) =>
  new Response(
    new Request(request).url.endsWith('/A5555') ? '3707074CE52FD2043BB9E6FF3E55E69DDFE:3' : '',
  )
await database.exec('DROP TABLE passkeys; DROP TABLE users')
await database.exec(
  `${usersSchema('shop')} ${sqlSchema('shop')} ${apiKeysSchema('shop')} ${schema}`,
)
const { app } = await import('./shop.js')
t.teardown(async () => {
  await app.close()
  await database.close()
})

const password = 'a white rabbit in a waistcoat'
const [laptop, phone] = ['Mozilla/5.0 Firefox/140.0', 'Mozilla/5.0 (iPhone) Safari/18']
const cookieOf = ({ cookies }: LightMyRequestResponse): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
const post = async (url: string, payload: object, cookie = '', agent = laptop) =>
  app.inject({ method: 'POST', url, payload, headers: { cookie, 'user-agent': agent } })
const get = async (url: string, cookie: string) => app.inject({ url, headers: { cookie } })
const newMails = async (): Promise<string[]> => {
  // What reads the list of sessions and the address for a mail has come before, since the database has one queue.
  for (let each = 0; each < 5; each++) await all('select 1', [])
  return outbox.splice(0).map(({ subject }) => subject)
}

/** Signs up, and returns the cookies. */
async function signUp(email: string): Promise<string> {
  await post('/sign-up', { email })
  await app.authn.accounts.settled()
  const letter = outbox.splice(0).find(({ subject }) => subject === subjects['sign-up'])
  const token = letter?.text?.split('#')[1]
  t.equal((await post('/sign-up/finish', { token, password: leaked })).statusCode, 400)
  const finished = await post('/sign-up/finish', { token, password, remember: true })
  t.equal(finished.statusCode, 200)
  return cookieOf(finished)
}
async function addFactor(cookie: string): Promise<string> {
  const { secret, token } = (await post('/second-factor/setup', {}, cookie)).json<{
    secret: string
    token: string
  }>()
  return cookieOf(await post('/second-factor/enable', { token, code: totpCode(secret) }, cookie))
}

t.test('a login on a new device and a new second factor are told by e-mail', async (t) => {
  const email = 'dora@shop.example'
  const cookie = await signUp(email)
  t.strictSame(await newMails(), [], 'a sign-up is no new device')
  const logIn = async (agent: string) =>
    cookieOf(await post('/login', { email, password, remember: true }, '', agent))
  await logIn(laptop.replace('140.0', '141.2'))
  t.strictSame(await newMails(), [], 'the same browser, which was updated')
  await logIn(phone)
  t.strictSame(await newMails(), ['A login on a new device'])
  await logIn(phone)
  t.strictSame(await newMails(), [])
  const strong = await addFactor(cookie)
  t.strictSame(await newMails(), ['Your second factor: enabled'])
  t.equal((await get('/devices', cookie)).statusCode, 401, 'the other sessions are over')
  t.equal((await get('/devices', strong)).json<object[]>().length, 1)
})

t.test('without "remember me", the cookies go when the browser closes', async (t) => {
  const email = 'erik@shop.example'
  await signUp(email)
  const isKept = async (payload: object) =>
    (await post('/login', { email, password, ...payload })).cookies.some(
      ({ name, maxAge }) => name.endsWith('refresh') && maxAge !== undefined,
    )
  t.equal(await isKept({ remember: true }), true)
  t.equal(await isKept({}), false)
})

t.test('admins need a second factor', async (t) => {
  const email = 'admin@shop.example'
  await app.authn.users.create({ email, roles: ['admin'], password }, null)
  const weak = cookieOf(await post('/login', { email, password }))
  t.equal((await get('/back-office/reports', weak)).statusCode, 401)
  const strong = await addFactor(weak)
  t.equal((await get('/back-office/reports', strong)).statusCode, 200)
  t.equal((await get('/admin/users', strong)).statusCode, 200)
  t.equal((await get('/back-office/reports', await signUp('fred@shop.example'))).statusCode, 403)
})

t.test('an API key opens the orders alone, and a deletion leaves nothing personal', async (t) => {
  const email = 'gina@shop.example'
  const cookie = await signUp(email)
  const { key } = (await post('/keys', {}, cookie)).json<{ key: string }>()
  const withKey = async (url: string) =>
    (await app.inject({ url, headers: { authorization: `Bearer ${key}` } })).statusCode
  t.equal(await withKey('/orders'), 200)
  t.equal(await withKey('/my/data'), 401)
  t.equal((await post('/payments', {}, cookie)).statusCode, 200)
  const data = await get('/my/data', cookie)
  t.match(data.json(), { account: { email }, sessions: [{}], apiKeys: [{ name: 'job' }] })
  t.notMatch(data.body, '$2b$')
  const { account } = data.json<{ account: { id: string } }>()
  t.equal((await post('/account/delete', { currentPassword: password }, cookie)).statusCode, 204)
  t.equal(await withKey('/orders'), 401)
  await newMails()
  const rows = await all<{ event: string; address: string | null }>(
    'select event, address from audit_log where sub = $1 order by id',
    [account.id],
  )
  t.ok(rows.length > 2)
  const kept = rows.filter(({ address }) => address !== null)
  t.ok(
    kept.every(({ event }) => event === 'account' || event === 'user'),
    'but that of the deletion',
  )
})
