// program: its own, in npm run test:all
// The app of docs/guides/users.md, over PostgreSQL (PGlite): its first admin, a sign-up, a device, and a suspended user.
import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { totpCode } from 'fastify-authn/testing'
import { sqlSchema } from '../../lib/sessions/stores/sql-schema.js'
import { usersSchema } from '../../lib/users-table/stores/sql-schema.js'
import { database } from './database.js'
import { outbox } from './mailer.js'

process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')
process.env.SECOND_FACTOR_KEY = randomBytes(32).toString('base64url')
process.env.GOOGLE_ID = process.env.GOOGLE_SECRET = 'x'
process.env.PORT = '0'
await database.exec('DROP TABLE passkeys; DROP TABLE users')
await database.exec(`${usersSchema('shop')} ${sqlSchema('shop')}`)
const { app } = await import('./users.js')
t.teardown(async () => {
  await app.close()
  await database.close()
})

const password = 'a white rabbit in a waistcoat'
const cookieOf = ({ cookies }: LightMyRequestResponse): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
const post = async (url: string, payload: object, cookie = '') =>
  app.inject({ method: 'POST', url, payload, headers: { cookie } })
const get = async (url: string, cookie: string) => app.inject({ url, headers: { cookie } })

t.test('people sign up, and an admin suspends one of them', async (t) => {
  const email = 'dora@shop.example'
  await post('/sign-up', { email })
  await app.authn.accounts.settled()
  const token = outbox.splice(0)[0]?.text?.split('#')[1]
  const dora = cookieOf(await post('/sign-up/finish', { token, password }))
  const devices = (await get('/devices', dora)).json<{ sid: string }[]>()
  t.equal(devices.length, 1)

  const admin = { email: 'admin@shop.example', roles: ['admin'], password }
  await app.authn.users.create(admin, null)
  const weak = cookieOf(await post('/login', admin))
  t.equal((await get('/admin/users', dora)).statusCode, 403)
  t.equal((await get('/admin/users', weak)).statusCode, 401, 'the second factor is missing')
  const setup = (await post('/second-factor/setup', {}, weak)).json<Record<string, string>>()
  const code = totpCode(String(setup.secret))
  const strong = cookieOf(await post('/second-factor/enable', { token: setup.token, code }, weak))
  const { users } = (await get('/admin/users?email=dora', strong)).json<{
    users: { id: string }[]
  }>()
  const url = `/admin/users/${users[0]?.id}/disable`
  t.equal((await post(url, {}, strong)).statusCode, 204)
  t.equal((await get('/devices', dora)).statusCode, 401)
  t.equal((await post('/login', { email, password })).statusCode, 403)
})

t.test('a device is removed by its user alone', async (t) => {
  const [one, two] = ['erik@shop.example', 'fred@shop.example']
  for (const email of [one, two]) await app.authn.users.create({ email, password }, null)
  const logIn = async (email: string) => cookieOf(await post('/login', { email, password }))
  const [cookie, phone, stranger] = [await logIn(one), await logIn(one), await logIn(two)]
  const all = (await get('/devices', cookie)).json<{ sid: string }[]>()
  t.equal(all.length, 2)
  for (const { sid } of all)
    t.equal((await post('/devices/remove', { sid }, stranger)).statusCode, 204)
  t.equal((await get('/devices', phone)).statusCode, 200, 'nothing has happened')
  for (const { sid } of all) await post('/devices/remove', { sid }, cookie)
  t.equal((await get('/devices', phone)).statusCode, 401)
})
