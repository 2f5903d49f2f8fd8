// The recipe as its page tells it: one person in two organizations, and invitations with and without an account.
import { randomBytes } from 'node:crypto'
import { PGlite } from '@electric-sql/pglite'
import bcrypt from 'bcrypt'
import t from 'tap'
import { buildApp, schema, type Query } from './organizations.js'

const database = new PGlite()
await database.exec(schema)
const query: Query = async (sql, values) => (await database.query<never>(sql, values)).rows
const mails: { token?: string | undefined }[] = []
const app = await buildApp(randomBytes(64).toString('base64url'), query, (mail) => {
  mails.push(mail)
})
t.teardown(async () => {
  await app.close()
  await database.close()
})

const password = 'a white rabbit in a waistcoat'
for (const [name, organization] of [
  ['alice', 'acme'],
  ['bob', 'globex'],
]) {
  const user = 'insert into users (email, password) values ($1, $2) returning id'
  const [made] = await query(user, [`${name}@example.com`, bcrypt.hashSync(password, 4)])
  await query("insert into memberships values ($1, $2, 'admin')", [made?.id, organization])
}

async function logIn(name: string): Promise<string> {
  const payload = { email: `${name}@example.com`, password }
  const response = await app.inject({ method: 'POST', url: '/login', payload })
  return response.json<{ token: string }>().token
}
const send = async (token: string, url: string, payload?: object): Promise<number> => {
  const headers = { authorization: `Bearer ${token}` }
  const method = payload === undefined ? 'GET' : 'POST'
  return (await app.inject({ method, url, headers, ...(payload && { payload }) })).statusCode
}
const invite = (token: string, organization: string, email: string, role = 'member') =>
  send(token, `/organizations/${organization}/invitations`, { email, role })
const members = (token: string, organization: string) =>
  send(token, `/organizations/${organization}/members`)

t.test('a role counts in its organization alone', async (t) => {
  const alice = await logIn('alice')
  t.equal(await members(alice, 'acme'), 200)
  t.equal(await members(alice, 'globex'), 403)
  t.equal(await invite(alice, 'globex', 'alice@example.com', 'admin'), 403)
  t.equal(await invite(alice, 'acme', 'carol@example.com', 'owner'), 400)
  t.equal(await invite(alice, 'acme', 'no address'), 400)
  t.equal(await members(alice, '%00'), 403)
  t.equal(await send(alice, '/invitations/%00/accept', {}), 400)
})

t.test('who has an account accepts an invitation by it, once', async (t) => {
  const [alice, bob] = [await logIn('alice'), await logIn('bob')]
  t.equal(await invite(alice, 'acme', 'Bob@example.com'), 202)
  const url = `/invitations/${mails.at(-1)?.token}/accept`
  t.equal(await send(alice, url, {}), 404, 'it is not hers')
  t.equal(await members(bob, 'acme'), 403)
  t.equal(await send(bob, url, {}), 200)
  t.strictSame([await members(bob, 'acme'), await members(bob, 'globex')], [200, 200])
  t.equal(await invite(bob, 'acme', 'bob@example.com', 'admin'), 403)
  await query("delete from memberships where organization = 'acme' and role = 'member'", [])
  t.equal(await send(bob, url, {}), 404, 'it lets no member back')
  t.equal(await members(bob, 'acme'), 403)
})

t.test('who has none makes one by the invitation', async (t) => {
  const alice = await logIn('alice')
  t.equal(await invite(alice, 'acme', 'Carol@example.com'), 202)
  const payload = { token: mails.at(-1)?.token, password }
  const finish = async () =>
    (await app.inject({ method: 'POST', url: '/sign-up/finish', payload })).statusCode
  t.equal(await finish(), 200)
  t.equal(await members(await logIn('carol'), 'acme'), 200)
  await query("delete from users where email = 'carol@example.com'", [])
  t.equal(await finish(), 400, 'it works once')
})
