// program: its own, in npm run test:all
// Both programs of docs/guides/audit-log.md, in one app over PGlite.
import { randomBytes } from 'node:crypto'
import { PGlite } from '@electric-sql/pglite'
import bcrypt from 'bcrypt'
import { channels } from 'fastify-authn'
import t from 'tap'
import { schema, writeAuditLog } from './audit-log.js'
import { buildApp } from './personal-data.js'

const database = new PGlite()
await database.exec(`${schema};
create table users (id bigint generated always as identity primary key, email text unique, password text)`)
const query = async (sql: string, values: unknown[]) =>
  (await database.query<never>(sql, values)).rows
const errors: unknown[] = []
let isBroken = false
const stop = writeAuditLog(
  async (sql, values) => {
    if (isBroken) throw new Error('the database is down')
    return query(sql, values)
  },
  (error) => errors.push(error),
)
const app = await buildApp(randomBytes(64).toString('base64url'), query)
t.teardown(async () => {
  await app.close()
  await database.close()
})

const email = 'alice@example.com'
const password = 'a white rabbit in a waistcoat'
await query('insert into users (email, password) values ($1, $2)', [
  email,
  bcrypt.hashSync(password, 4),
])
app.get('/admin', { config: { auth: { role: 'admin' } } }, () => 'hello')

async function post(url: string, payload: object, token = '') {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
  return app.inject({ method: 'POST', url, payload, headers })
}
const get = (url: string, token: string) =>
  app.inject({ url, headers: { authorization: `Bearer ${token}` } })
async function logIn(): Promise<string> {
  return (await post('/login', { email, password })).json<{ token: string }>().token
}
const rows = () =>
  query('select event, registration, sub, address, details from audit_log order by id', [])

t.test('events become rows, without passwords and tokens', async (t) => {
  t.equal((await post('/login', { email, password: 'the queen of hearts' })).statusCode, 401)
  const token = await logIn()
  t.equal((await get('/admin', token)).statusCode, 403)
  t.equal((await get('/me', 'wrong')).statusCode, 401)
  t.equal((await post('/logout', {}, token)).statusCode, 204)
  const { key } = await app.authn.apiKeys.issue({
    owner: '1',
    name: 'nightly job',
    scopes: [],
    expiresAt: null,
  })
  await new Promise(setImmediate)
  const found = await rows()
  t.match(found, [
    { event: 'failure', sub: '1', address: '127.0.0.1', details: { code: String } },
    { event: 'login', registration: '/', sub: '1', details: { amr: ['pwd'] } },
    { event: 'failure', sub: '1', details: { code: 'ERR_AUTH_FORBIDDEN' } },
    { event: 'logout', sub: '1', details: { everywhere: false } },
    {
      event: 'apiKey',
      sub: '1',
      address: null,
      details: { action: 'issued', name: 'nightly job' },
    },
  ])
  t.equal(found.length, 5, 'and no row for a wrong token')
  const text = JSON.stringify(found)
  for (const secret of [password, 'hearts', token, key]) t.notOk(text.includes(secret))
})

t.test('what happens to users of the option users is a row, with the admin', async (t) => {
  const event = { registration: '/', sub: '7', action: 'disabled' } as const
  channels.user.publish({ ...event, request: null })
  channels.user.publish({ ...event, request: { ip: '::1', user: { id: 1 } } as never })
  await new Promise(setImmediate)
  const found = await rows()
  t.match(found.slice(-2), [
    { event: 'user', sub: '7', address: null, details: { action: 'disabled', by: null } },
    { event: 'user', sub: '7', address: '::1', details: { action: 'disabled', by: 1 } },
  ])
})

t.test('wrong passwords are in the export of the account, and a flood is one row', async (t) => {
  const events = async (event: string): Promise<object[]> =>
    query('select sub, details from audit_log where event = $1 order by id', [event])
  const before = (await events('failure')).length
  for (const name of ['nobody@example.com', 'a\0b', ' ']) {
    await post('/login', { email: name, password: 'the queen of hearts' })
  }
  await new Promise(setImmediate)
  const unknown = (await events('failure')).slice(before)
  t.ok(unknown.length > 0)
  for (const row of unknown) t.match(row, { sub: null })
  t.notMatch(JSON.stringify(unknown), /nobody/)
  const guess = async (): Promise<number> =>
    (await post('/login', { email: 'bob@example.com', password: 'no' })).statusCode
  while ((await guess()) !== 429);
  for (let each = 0; each < 5; each += 1) t.equal(await guess(), 429)
  await new Promise(setImmediate)
  t.ok((await events('throttled')).length <= 2, 'a minute may end meanwhile')
  t.strictSame(errors, [])
})

t.test('a database that fails does not fail a login', async (t) => {
  isBroken = true
  t.ok(await logIn())
  await new Promise(setImmediate)
  isBroken = false
  t.match(errors, [{ message: 'the database is down' }])
})

t.test('export, deletion, and what stays', async (t) => {
  await query(
    `insert into audit_log (event, registration, sub, address) values ('login', '/staff', '1', 'b')`,
    [],
  )
  const token = await logIn()
  const expiresAt = new Date(Date.now() + 86_400_000)
  const { key } = await app.authn.apiKeys.issue({ owner: '1', name: 'job', scopes: [], expiresAt })
  t.equal((await get('/me', key)).statusCode, 200)
  t.equal((await get('/my/data', key)).statusCode, 401)
  const data = await get('/my/data', token)
  t.equal(data.statusCode, 200)
  t.match(data.json(), {
    account: { id: 1, email },
    sessions: [{ address: '127.0.0.1' }],
    apiKeys: [{ name: 'job' }, { name: 'nightly job' }],
    log: [{ event: 'failure' }, { event: 'login' }],
  })
  t.notOk(data.body.includes('$2b$'), 'not the hash')

  t.equal((await post('/account/delete', { currentPassword: password }, token)).statusCode, 204)
  await stop()
  t.equal((await get('/me', token)).statusCode, 401)
  t.equal((await get('/me', key)).statusCode, 401)
  t.strictSame(await app.authn.sessions.list('1'), [])
  const left = await app.authn.apiKeys.list('1')
  t.match(left, [{ revokedAt: Date }, { revokedAt: Date }], 'for 30 days')
  const old = await query(
    'select registration from audit_log where sub = $1 and event = $2 and address is not null',
    ['1', 'login'],
  )
  t.strictSame(old, [{ registration: '/staff' }], 'only that of the other registration')
  t.notMatch(data.body, '/staff')
  t.notMatch(data.body, '"b"')
  const last = (await rows()).at(-1)
  t.match(last, { event: 'account', sub: '1', details: { action: 'deleted' } })
  t.equal((await post('/login', { email, password })).statusCode, 401)
  t.strictSame((await rows()).at(-1), last, 'nothing is written after stop()')
})
