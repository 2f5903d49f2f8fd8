// program: docs
// What an app on Express and Passport leaves: users with hashes of bcrypt, tokens of jsonwebtoken, sessions, and routes
// that have not moved yet. docs/guides/coming-from-express-passport.md.
import fastifyExpress from '@fastify/express'
import bcrypt from 'bcrypt'
import express, { type Request } from 'express'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { AuthenticationError, authn, jwtAuthenticator } from '../../lib/index.js'
import type { Authenticator, AuthnOptions } from '../../lib/index.js'
import { appWith, bearer, cost, secret, type TestApp } from '../helpers/app.js'
import { listen } from '../helpers/flows.js'
import { hmacToken } from '../helpers/tokens.js'

interface Row {
  readonly id: number
  readonly email: string
  password_hash: string
}

/** As `bcrypt`, `bcryptjs` before version 3 and PHP have written them, the last one with a lower cost. */
function table(): Row[] {
  const hash = (password: string, minor: 'a' | 'b', rounds: number): string =>
    bcrypt.hashSync(password, bcrypt.genSaltSync(rounds, minor))
  return [
    { id: 1, email: 'alice@example.com', password_hash: hash('wonderland', 'b', cost + 1) },
    { id: 2, email: 'bob@example.com', password_hash: hash('le bricoleur', 'a', cost + 1) },
    {
      id: 3,
      email: 'carol@example.com',
      password_hash: hash('noël', 'b', cost).replace('$2b', '$2y'),
    },
  ]
}

function optionsFor(rows: readonly Row[]): AuthnOptions<Row> {
  return {
    userService: {
      findByUsername: async (email) => rows.find((row) => row.email === email),
      updatePasswordHash: async (user, hash) => {
        const row = rows.find(({ id }) => id === user.id)
        if (row !== undefined) row.password_hash = hash
      },
    },
    passwordField: 'password_hash',
    jwt: { secret },
    hashing: { cost: cost + 1 },
    login: { usernameField: 'email' },
    authenticators: {
      old: jwtAuthenticator({
        claimName: 'id',
        userService: { findByUsername: async (id) => rows.find((row) => row.id === id) },
      }),
    },
    authenticator: ['jwt', 'old'],
  }
}

/** An app that shows its user at `/me`. */
const setting = (t: Test, options: AuthnOptions<Row>): Promise<TestApp> =>
  appWith(t, options as unknown as AuthnOptions, (app) => {
    app.get('/me', { config: { auth: true } }, (request) => request.user)
  })

const enter = (app: TestApp, email: string, password: string) =>
  app.inject({ method: 'POST', url: '/login', payload: { email, password } })
const statusOf = async (app: TestApp, token: string): Promise<number> =>
  (await app.inject({ url: '/me', headers: bearer(token) })).statusCode
const tokenOf = async (app: TestApp): Promise<string> =>
  (await enter(app, 'alice@example.com', 'wonderland')).json<{ token: string }>().token

/** As `jsonwebtoken` makes it. */
const oldToken = (claims: object, key = secret): string =>
  hmacToken({ alg: 'HS256', typ: 'JWT' }, claims, key)

t.test('users log in with hashes of bcrypt, bcryptjs and PHP', async (t) => {
  const rows = table()
  const options = { ...optionsFor(rows), sessions: true, cookies: true as const }
  const app = await setting(t, options)
  const passwords = ['wonderland', 'le bricoleur', 'noël']
  for (const [index, { id, email }] of rows.entries()) {
    const login = await enter(app, email, String(passwords[index]))
    t.equal(login.statusCode, 200, email)
    const cookies = Object.fromEntries(login.cookies.map(({ name, value }) => [name, value]))
    const me = await app.inject({ url: '/me', cookies })
    t.strictSame(me.json(), { id, email }, 'without the hash')
    t.equal((await enter(app, email, 'wrong')).statusCode, 401)
  }
  t.match(rows[2]?.password_hash, /^\$2b\$05\$/, 'a weak hash is replaced at the login')
  t.equal((await enter(app, 'carol@example.com', 'noël')).statusCode, 200)
})

t.test('tokens of jsonwebtoken and of new logins are accepted at the same time', async (t) => {
  const app = await setting(t, optionsFor(table()))
  const now = Math.floor(Date.now() / 1000)
  for (const [title, token, status] of [
    ['of a new login', await tokenOf(app), 200],
    ['of before', oldToken({ id: 2, iat: now, exp: now + 3600 }), 200],
    ['of no user', oldToken({ id: 9, iat: now, exp: now + 3600 }), 401],
    ['expired', oldToken({ id: 2, iat: now - 9, exp: now - 5 }), 401],
    ['forged', oldToken({ id: 2, exp: now + 3600 }, 'another key'.repeat(3)), 401],
  ] as const) {
    t.equal(await statusOf(app, token), status, title)
  }
})

t.test('an app that reads only the old claim rejects tokens of new logins', async (t) => {
  const old = { authenticators: {}, authenticator: jwtAuthenticator({ claimName: 'id' }) }
  const app = await setting(t, { ...optionsFor(table()), ...old })
  t.equal(await statusOf(app, await tokenOf(app)), 401)
})

t.test('Express routes work beside Fastify routes with sessions of Passport', async (t) => {
  const alice = table()[0] as Row
  // As express-session and passport.session() leave the request.
  type WithUser = Request & { user?: Row }
  const sessions = (request: Request, _response: unknown, next: () => void): void => {
    if (request.headers.cookie?.includes('connect.sid=alice')) (request as WithUser).user = alice
    next()
  }
  const oldApp = express()
  oldApp.use(express.json())
  oldApp.post('/orders', (request, response) => {
    const { user } = request as WithUser
    if (user === undefined) response.sendStatus(401)
    else response.json({ by: user.id, body: request.body as unknown })
  })
  const passportSession: Authenticator = {
    authenticate({ method, headers, raw }) {
      const { user = null } = raw as { user?: Row }
      const isSafe = (method === 'GET' || method === 'HEAD') && headers.upgrade === undefined
      if (user !== null && !isSafe && headers['sec-fetch-site'] !== 'same-origin') {
        throw new AuthenticationError('This request comes from another site.')
      }
      return user
    },
  }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(fastifyExpress)
  app.use(sessions)
  app.use('/old', oldApp)
  await app.register(authn, { authenticators: { passportSession } })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  app.post('/notes', { config: { auth: true } }, (request) => request.body)

  // Over a socket: Express changes the prototypes of requests, which injected ones do not survive.
  const port = await listen(app)
  const cookie = 'connect.sid=alice'
  const ask = async (path: string, headers: Record<string, string> = {}, body?: object) => {
    const init = body && { method: 'POST', body: JSON.stringify(body) }
    const type = body && { 'content-type': 'application/json' }
    const url = `http://127.0.0.1:${port}${path}`
    const response = await fetch(url, { ...init, headers: { ...type, ...headers } })
    const text = await response.text()
    return response.ok ? (JSON.parse(text) as object) : response.status
  }
  t.equal(await ask('/old/orders', {}, { item: 7 }), 401, 'by Express')
  t.strictSame(await ask('/old/orders', { cookie }, { item: 7 }), { by: 1, body: { item: 7 } })

  t.equal(await ask('/me'), 401)
  t.strictSame(await ask('/me', { cookie }), { id: 1, email: 'alice@example.com' })
  const same = { cookie, 'sec-fetch-site': 'same-origin' }
  t.strictSame(await ask('/notes', same, { text: 'x' }), { text: 'x' })
  t.equal(await ask('/notes', { cookie }, { text: 'x' }), 401)
  t.equal(await ask('/notes', { cookie, 'sec-fetch-site': 'cross-site' }, { text: 'x' }), 401)
})
