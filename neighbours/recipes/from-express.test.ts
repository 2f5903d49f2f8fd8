// The recipe against what Express, express-session, connect-pg-simple and jsonwebtoken really leave.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import pgSession from 'connect-pg-simple'
import express from 'express'
import session from 'express-session'
import { hashPassword } from 'fastify-authn'
import jsonwebtoken from 'jsonwebtoken'
import { buildApp, type Account, type Queries } from './from-express.js'

const old = { jwt: 'keyboard cat', session: 'keyboard cats' }
const alice = { id: 7, name: 'alice', password: await hashPassword('wonderland-1865', { cost: 4 }) }
/** Whose name is the id of alice. */
const seven = { ...alice, id: 8, name: '7' }

/** The cookies that the old app gives to a visitor, and to one who logs in. */
async function oldCookies(t: TestContext, database: PGlite) {
  const app = express()
  const Store = pgSession(session)
  const pool = { query: (sql: string, values: unknown[]) => database.query(sql, values) }
  const store = new Store({ pool: pool as never, pruneSessionInterval: false })
  app.use(session({ secret: old.session, store, resave: false, saveUninitialized: true }))
  app.get('/', (request, response) => {
    if ('user' in request.query) Object.assign(request.session, { passport: { user: 7 } })
    response.send('hello')
  })
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.on('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return async (path: string) => {
    const { port } = server.address() as AddressInfo
    const { headers } = await fetch(`http://127.0.0.1:${port}${path}`)
    return String(headers.get('set-cookie')?.split(';')[0])
  }
}

async function setUp(t: TestContext) {
  const database = new PGlite()
  await database.exec(
    'create table session (sid text primary key, sess json not null, expire timestamp(6) not null)',
  )
  const take = 'delete from session where sid = $1 and expire > now() returning sess'
  const queries: Queries = {
    account: async (name): Promise<Account | null> =>
      name === 'alice' || name === 7 ? alice : name === '7' ? seven : null,
    takeOldSession: async (sid) =>
      (await database.query<{ sess: { passport?: { user?: number } } }>(take, [sid])).rows[0]?.sess,
  }
  const app = await buildApp(randomBytes(64).toString('base64url'), old, queries)
  t.after(async () => {
    await app.close()
    await database.close()
  })
  const cookieFrom = await oldCookies(t, database)
  const move = (cookie: string, site = 'same-origin') =>
    app.inject({ method: 'POST', url: '/move', headers: { cookie, 'sec-fetch-site': site } })
  const status = async (token: string) =>
    (await app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })).statusCode
  return { app, database, cookieFrom, move, status }
}

test('tokens of jsonwebtoken with a short secret', async (t) => {
  const { app, status } = await setUp(t)
  const sign = (claims: object, secret = old.jwt, options = {}) =>
    jsonwebtoken.sign(claims, secret, { expiresIn: 60, ...options })
  assert.equal(await status(sign({ id: 7 })), 200)
  for (const [title, token] of Object.entries({
    'a refresh token': sign({ id: 7, type: 'refresh' }),
    'another secret': sign({ id: 7 }, 'keyboard dog'),
    'another algorithm': sign({ id: 7 }, old.jwt, { algorithm: 'HS512' }),
    expired: sign({ id: 7 }, old.jwt, { expiresIn: -1 }),
    'no expiry': jsonwebtoken.sign({ id: 7 }, old.jwt),
    'no user': sign({ id: 8 }),
    'the form of new tokens': sign({ sub: '7' }),
    'no signature': jsonwebtoken.sign({ id: 7 }, '', { algorithm: 'none', expiresIn: 60 }),
    'no token': 'keyboard',
  })) {
    assert.equal(await status(token), 401, title)
  }
  const headers = { 'token-delivery': 'body' }
  const payload = { username: 'alice', password: 'wonderland-1865' }
  const login = await app.inject({ method: 'POST', url: '/login', headers, payload })
  assert.equal(await status(login.json<{ token: string }>().token), 200, 'of a new login')
})

test('sessions of Express become new ones, once', async (t) => {
  const { app, database, cookieFrom, move } = await setUp(t)
  const cookie = await cookieFrom('/?user')
  assert.equal((await move(cookie, 'cross-site')).statusCode, 403)
  assert.equal((await move(cookie.replace(/(s%3A[\w-]+\.)../, '$1AA'))).statusCode, 401, 'forged')
  assert.equal((await move('')).statusCode, 401)
  const response = await move(`a=b; ${cookie}`)
  assert.equal(response.statusCode, 200)
  const cookies = Object.fromEntries(response.cookies.map(({ name, value }) => [name, value]))
  assert.equal(cookies['connect.sid'], '', 'deleted')
  const me = await app.inject({ url: '/me', cookies })
  assert.equal(me.statusCode, 200)
  assert.equal(me.json<Account>().id, 7)
  assert.equal((await app.inject({ url: '/me', headers: { cookie } })).statusCode, 401)
  assert.equal((await move(cookie)).statusCode, 401, 'again')

  const visitor = await move(await cookieFrom('/'))
  assert.equal(visitor.statusCode, 401, 'never logged in')
  assert.equal(visitor.cookies[0]?.value, '')
  const late = await cookieFrom('/?user')
  await database.exec("update session set expire = now() - interval '1 minute'")
  assert.equal((await move(late)).statusCode, 401, 'expired')
})
