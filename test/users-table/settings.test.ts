// What startup accepts beside the option `users`, and what the app gives itself.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { memoryUsers } from '../../lib/users-table/index.js'
import { newPassword, pages } from '../helpers/accounts.js'
import { appWith, basic, cost, fastify, logLines, secret } from '../helpers/app.js'
import { clientOver, sessionOf } from '../helpers/client.js'
import { everyOptionIsNamed, failureWith } from '../helpers/options.js'
import { origin } from '../helpers/passkeys.js'
import { setNodeEnv } from '../helpers/environment.js'
import { key } from '../helpers/second-factor.js'
import { usersApp } from '../helpers/users-app.js'

const base = { jwt: { secret }, hashing: { cost }, sessions: true }
const startWith = failureWith('users', base)
const store = memoryUsers()

t.test('wrong options are named', async (t) => {
  const bad = {
    store: [undefined, null, 'shop', {}, { prefix: '', isLocal: true, open: () => null }],
    newUser: ['name', {}],
    signUp: ['no', null],
    admin: [true, 'admin'],
    'admin.path': ['', 'admin', '/admin/', '/'],
  }
  const start = (given: object) => startWith(t, given)
  await everyOptionIsNamed(t, 'users', start, { store }, bad)
  t.match(await startWith(t, { store, accept: true }), { code: 'ERR_AUTH_OPTION' })
  t.match(await startWith(t, true), { code: 'ERR_AUTH_OPTION' })
})

t.test('a provider that is switched off by undefined, and a list of them, are named', async (t) => {
  for (const loginWith of [{ github: undefined }, { github: null }, null, [{ issuer: 'a' }]])
    t.match(await startWith(t, { store }, { cookies: true, loginWith }), {
      code: 'ERR_AUTH_OPTION',
      message: /loginWith/,
    })
  t.match(await startWith(t, { store }, { mailLogin: null }), { code: 'ERR_AUTH_OPTION' })
})

t.test('the mark of the admin API needs a role or a scope', async (t) => {
  const bad = [
    true,
    false,
    'optional',
    'try',
    { mfa: true },
    { fresh: 600 },
    { use: 'jwt' },
    {},
    undefined,
    'admin',
    { role: 'admin', mode: 'try' },
  ]
  for (const auth of bad) {
    const error = await startWith(t, { store, admin: { auth } })
    t.match(error?.code, /^ERR_AUTH_(?:MARK|OPTION)$/, JSON.stringify(auth))
    t.ok(error?.message.includes('users.admin.auth'), String(error?.message))
  }
  const admin = { auth: { role: 'admin' } }
  const needs: object[] = [{ sessions: false }, { login: false }]
  for (const more of needs)
    t.match(
      await startWith(t, { store, admin }, more),
      { code: 'ERR_AUTH_OPTION' },
      JSON.stringify(more),
    )
  for (const auth of [{ role: 'admin' }, { scope: 'users', fresh: 600 }])
    t.equal(await startWith(t, { store, admin: { auth } }), undefined)
})

t.test('options that the table takes the place of stop the start', async (t) => {
  const loginWith = { corp: { issuer: 'https://corp.example', clientId: 'a', clientSecret: 'b' } }
  const accounts = { url: pages, sendMail: () => undefined }
  const others: Record<string, object> = {
    userService: { userService: { findByUsername: () => null } },
    passwordField: { passwordField: 'hash' },
    'login.subject': { login: { subject: () => 1 } },
    'accounts.emailField': { accounts: { ...accounts, emailField: 'mail' } },
    'secondFactor.field': { secondFactor: { key, issuer: 'Shop', field: 'factor' } },
    'apiKeys.user': { apiKeys: { prefix: 'shop', user: () => null } },
  }
  for (const [option, more] of Object.entries(others)) {
    const error = await startWith(t, { store }, more)
    t.equal(error?.code, 'ERR_AUTH_OPTION', option)
    t.ok(error?.message.includes(`"${option}"`), String(error?.message))
  }
  const fine: object[] = [
    { accounts },
    { loginWith, cookies: true },
    { loginWith, cookies: { sameSite: 'strict' } },
    { accounts: { ...accounts, remove: true } },
    { login: { usernameField: 'name' } },
  ]
  for (const more of fine)
    t.equal(await startWith(t, { store }, more), undefined, JSON.stringify(more))
  const own = failureWith('userService', base)
  const service = { findByUsername: () => null }
  const login = { subject: () => 1 }
  const [incomplete, removed] = [
    { accounts, login },
    { accounts: { ...accounts, create: () => true, update: () => true, remove: true }, login },
  ]
  for (const more of [incomplete, removed])
    t.match(
      await own(t, service, more),
      { code: 'ERR_AUTH_OPTION' },
      'without a table, they are needed',
    )
})

t.test('what the app gives itself takes precedence, and is called on its object', async (t) => {
  class Mailer {
    #sent: string[] = []
    readonly url = pages
    sendMail({ kind }: { kind: string }): void {
      this.#sent.push(kind)
    }
    get sent(): string[] {
      return this.#sent
    }
  }
  const accounts = new Mailer()
  const asked: unknown[] = []
  const passkeys = { origin, name: 'Shop', list: (user: unknown) => (asked.push(user), []) }
  const { create, enter, app, send } = await usersApp(t, {}, { accounts, passkeys })
  await create('dora@example.com')
  await send('/password/forgot', { email: 'dora@example.com' })
  await app.authn.accounts.settled()
  t.strictSame(accounts.sent, ['reset'])
  const headers = await enter('dora@example.com')
  t.match((await app.inject({ url: '/passkeys', headers })).json(), { passkeys: [] })
  t.match(asked, [{ email: 'dora@example.com' }])
})

t.test('users in memory are a warning in production', async (t) => {
  setNodeEnv(t, 'production')
  const { lines, stream } = logLines()
  const app = fastify(t, { logger: { stream } })
  const jwt = { secret: randomBytes(64).toString('base64url') }
  await app.register(authn, { users: { store: memoryUsers() }, jwt } as unknown as AuthnOptions)
  const told = lines.filter(({ level }) => level === 40).map(({ msg }) => String(msg))
  t.match(told, [/memory of this process/])
})

t.test('Basic alone', async (t) => {
  const options = { users: { store: memoryUsers() }, hashing: { cost }, authenticator: 'basic' }
  const app = await appWith(t, options as object, (app) => {
    app.get('/me', { config: { auth: true } }, (request) => request.user)
  })
  await app.authn.users.create({ email: 'dora@example.com', password: newPassword }, null)
  const headers = basic('Dora@example.com', newPassword)
  t.match((await app.inject({ url: '/me', headers })).json(), { email: 'dora@example.com' })
})

t.test('registrations with one store have the same users', async (t) => {
  const users = { store: memoryUsers() }
  const found = await usersApp(t, users)
  const outer = fastify(t)
  const shared = { users, jwt: { secret }, hashing: { cost } }
  const accounts = { url: pages, sendMail: () => undefined }
  await outer.register(authn, {
    ...shared,
    sessions: { name: 'page' },
    accounts,
  } as unknown as AuthnOptions)
  await outer.register(
    async (inner) => {
      await inner.register(authn, { ...shared, sessions: { name: 'phone' } })
      inner.get('/me', { config: { auth: true } }, (request) => request.user)
    },
    { prefix: '/phone' },
  )
  await outer.ready()
  const id = await found.create('dora@example.com')
  const { post } = clientOver(outer)
  const login = { email: 'dora@example.com', password: newPassword }
  const headers = sessionOf(await post('/phone/login', login))
  const me = async () => (await outer.inject({ url: '/phone/me', headers })).statusCode
  t.equal(await me(), 200)
  await outer.authn.users.disable(id, null)
  await outer.authn.users.enable(id, null)
  t.equal(await me(), 401, 'the sessions of both end')

  const bare = fastify(t)
  await bare.register(authn, { ...shared, login: false } as unknown as AuthnOptions)
  await bare.register(async (inner) => {
    await inner.register(authn, { ...shared, sessions: true } as unknown as AuthnOptions)
    inner.get('/me', { config: { auth: true } }, (request) => request.user)
  })
  const again = sessionOf(await clientOver(bare).post('/login', login))
  await bare.authn.users.disable(id, null)
  await bare.authn.users.enable(id, null)
  t.equal(
    (await bare.inject({ url: '/me', headers: again })).statusCode,
    401,
    'also without its own',
  )
})

t.test('tokens that the app makes itself', async (t) => {
  const tokenFunc = (_request: unknown, user: object): string => Object.keys(user).join()
  const options: object = { ...base, sessions: false, users: { store }, login: { tokenFunc } }
  const app = await appWith(t, options)
  const email = 'tokens@example.org'
  await app.authn.users.create({ email, password: newPassword }, null)
  const payload = { email, password: newPassword }
  const response = await app.inject({ method: 'POST', url: '/login', payload })
  t.match(response.json<{ token: string }>().token, 'createdAt')
})
