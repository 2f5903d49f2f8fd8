// The recipe as its page tells it, and what a user of one tenant would try at another.
import { randomBytes } from 'node:crypto'
import { PGlite } from '@electric-sql/pglite'
import bcrypt from 'bcrypt'
import type { AccountMail } from 'fastify-authn'
import t from 'tap'
import { buildApp, schema, type Query } from './tenants.js'

const database = new PGlite()
await database.exec(schema)
const query: Query = async (sql, values) => (await database.query<never>(sql, values)).rows
const mails: AccountMail[] = []
const app = await buildApp(randomBytes(64).toString('base64url'), query, (mail) => {
  mails.push(mail)
})
t.teardown(async () => {
  await app.close()
  await database.close()
})

const email = 'alice@example.com'
const hash = (password: string) => bcrypt.hashSync(password, 4)
for (const tenant of ['acme', 'globex']) {
  await query('insert into users (tenant, email, password) values ($1, $2, $3)', [
    tenant,
    email,
    hash(`alice of ${tenant}`),
  ])
}

async function send(tenant: string, url: string, token?: string, payload?: object) {
  const { statusCode, body } = await app.inject({
    method: payload === undefined ? 'GET' : 'POST',
    url,
    headers: {
      host: `${tenant}.shop.example`,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(payload && { payload }),
  })
  return [statusCode, body === '' ? null : JSON.parse(body)] as [number, Record<string, unknown>]
}

const logIn = (tenant: string, password: string) =>
  send(tenant, '/login', undefined, { email, password })
const atBoth = async (url: string, token: string) => [
  (await send('acme', url, token))[0],
  (await send('globex', url, token))[0],
]

t.test('the same address at two tenants is two users', async (t) => {
  t.equal((await logIn('globex', 'alice of acme'))[0], 401)
  t.equal((await logIn('nowhere', 'alice of acme'))[0], 401)
  for (const [index, tenant] of ['acme', 'globex'].entries()) {
    const [status, { token }] = await logIn(tenant, `alice of ${tenant}`)
    t.equal(status, 200)
    const [, me] = await send(tenant, '/me', String(token))
    t.strictSame(me, { id: index + 1, tenant, email })
  }
})

t.test('a token, a refresh token and a key of one tenant are a 401 at another', async (t) => {
  const [, { token, refreshToken }] = await logIn('acme', 'alice of acme')
  t.strictSame(await atBoth('/me', String(token)), [200, 401])
  const [status, { key }] = await send('acme', '/keys', String(token), {})
  t.equal(status, 200)
  t.strictSame(await atBoth('/me', String(key)), [200, 401])
  const refresh = (tenant: string) => send(tenant, '/login/refresh', undefined, { refreshToken })
  t.equal((await refresh('globex'))[0], 401)
  t.equal((await refresh('acme'))[0], 401, 'the attempt has revoked the session')
})

t.test('an invitation to one tenant makes no account at another', async (t) => {
  const [, { token }] = await logIn('acme', 'alice of acme')
  const carol = { email: 'Carol@example.com' }
  t.equal((await send('acme', '/invitations', String(token), carol))[0], 202)
  const payload = { token: mails.at(-1)?.token, password: 'a white rabbit in a waistcoat' }
  const finish = (tenant: string) => send(tenant, '/sign-up/finish', undefined, payload)
  t.equal((await finish('globex'))[0], 400)
  t.equal((await finish('acme'))[0], 200)
  t.match(await query("select tenant from users where email = 'carol@example.com'", []), [
    { tenant: 'acme' },
  ])

  t.equal((await send('acme', '/members/remove', String(token), carol))[0], 204)
  t.equal((await finish('acme'))[0], 400, 'the old invitation of a member who was removed')
  t.equal((await send('acme', '/invitations', String(token), carol))[0], 202)
  const unused = { ...payload, token: mails.at(-1)?.token }
  t.equal((await send('acme', '/members/remove', String(token), carol))[0], 204)
  t.equal((await send('acme', '/sign-up/finish', undefined, unused))[0], 400, 'one not used yet')
  t.equal((await send('acme', '/invitations', String(token), carol))[0], 202)
  const next = { ...payload, token: mails.at(-1)?.token }
  t.equal((await send('acme', '/sign-up/finish', undefined, next))[0], 200, 'a new one')
})

t.test('a link to reset a password works at its tenant only', async (t) => {
  await send('acme', '/password/forgot', undefined, { email })
  await app.authn.accounts.settled()
  const payload = { token: mails.at(-1)?.token, password: 'the cat without a grin' }
  const reset = async (tenant: string) =>
    (await send(tenant, '/password/reset', undefined, payload))[0]
  t.strictSame([await reset('globex'), await reset('acme')], [400, 204])
  t.equal((await logIn('globex', 'alice of globex'))[0], 200)
})
