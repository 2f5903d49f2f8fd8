// Several registrations with one user service: cookies for the web, tokens for phones.
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { memorySessions } from '../../lib/sessions/index.js'
import {
  accountsOver,
  jarOf,
  newPassword,
  password,
  type AccountUser,
} from '../helpers/accounts.js'
import { bearer, cost, secret } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import type { AnyResponse } from '../helpers/flows.js'
import { breakable, claimsOf, pairOf, storeWith } from '../helpers/sessions.js'
import { hashPassword } from '../../lib/passwords/password.js'
import type { SessionStoreFactory } from '../../lib/sessions/index.js'

const email = 'alice@example.com'
type Headers = Record<string, string>

/** Where the two registrations keep their sessions. */
const stores: [title: string, make: () => [SessionStoreFactory, SessionStoreFactory]][] = [
  [
    'one store',
    () => {
      const store = memorySessions()
      return [store, store]
    },
  ],
  ['two stores', () => [memorySessions(), memorySessions({ prefix: 'phones' })]],
]

async function setting(
  t: Test,
  [webStore, phoneStore]: [SessionStoreFactory, SessionStoreFactory],
  phones: Partial<AuthnOptions> = {},
) {
  const app = Fastify()
  t.teardown(() => app.close())
  const hash = await hashPassword(password, { algorithm: 'bcrypt', cost })
  const table: AccountUser[] = [
    { id: 1, email, password: hash },
    { id: 2, email: 'bob@example.com', password: hash },
  ]
  const { findByUsername, ...functions } = accountsOver(table)
  const tokens: string[] = []
  const base = {
    userService: { findByUsername },
    jwt: { secret },
    hashing: { cost },
    login: { usernameField: 'email', subject: (user: object) => (user as AccountUser).id },
  }
  const scopes: Record<string, FastifyInstance> = {}
  const declare = (name: string, options: object): unknown =>
    app.register(
      async (scope) => {
        await scope.register(authn, { ...base, ...options })
        scope.get('/me', { config: { auth: true } }, (request) => request.user)
        scopes[name] = scope
      },
      { prefix: `/${name}` },
    )
  await declare('web', {
    sessions: { store: webStore, name: 'web' },
    cookies: true,
    accounts: {
      url: 'https://shop.example/account',
      ...functions,
      sendMail: ({ token }: { token?: string }) => void tokens.push(String(token)),
    },
  })
  await declare('phone', { sessions: { store: phoneStore, name: 'phone' }, ...phones })
  await declare('plain', { login: false })
  await app.ready()
  const post = (url: string, payload?: object, headers: Headers = {}): Promise<AnyResponse> =>
    app.inject({ method: 'POST', url, headers, ...(payload && { payload }) })
  return {
    app,
    web: scopes.web as FastifyInstance,
    phone: scopes.phone as FastifyInstance,
    tokens,
    post,
    /** The status of `/<scope>/me`. */
    me: async (scope: string, headers: Headers) =>
      (await app.inject({ url: `/${scope}/me`, headers })).statusCode,
    enterWeb: async () => jarOf(await post('/web/login', { email, password })),
    enterPhone: async (username = email) =>
      pairOf(await post('/phone/login', { email: username, password })),
  }
}

for (const [title, make] of stores) {
  t.test(`a reset on the web logs phones out, with ${title}`, async (t) => {
    const { web, tokens, post, me, enterWeb, enterPhone } = await setting(t, make())
    const ways: [what: string, run: (cookies: Headers) => Promise<AnyResponse>][] = [
      [
        'a reset',
        async () => {
          await post('/web/password/forgot', { email })
          await web.authn.accounts.settled()
          return post('/web/password/reset', { token: tokens.pop(), password: newPassword })
        },
      ],
      [
        'a new password',
        (cookies) =>
          post('/web/password/change', { currentPassword: newPassword, password }, cookies),
      ],
      ['everywhere', (cookies) => post('/web/logout', { everywhere: true }, cookies)],
      [
        'revoke()',
        async () => {
          t.ok((await web.authn.sessions.revoke({ sub: 1 })) >= 2, 'counts both')
          return post('/web/logout')
        },
      ],
    ]
    for (const [what, run] of ways) {
      const wanted = what === 'a new password' ? newPassword : password
      const cookies = jarOf(await post('/web/login', { email, password: wanted }))
      const mine = pairOf(await post('/phone/login', { email, password: wanted }))
      const bob = await enterPhone('bob@example.com')
      for (const scope of ['web', 'phone', 'plain'])
        t.equal(await me(scope, bearer(mine.token)), 200, `${what}: ${scope} before`)
      const { statusCode } = await run(cookies)
      t.ok(statusCode < 300 || what === 'revoke()', `${what}: ${statusCode}`)
      for (const scope of ['web', 'phone', 'plain']) {
        t.equal(await me(scope, bearer(mine.token)), 401, `${what}: ${scope}`)
        t.equal(await me(scope, bearer(bob.token)), 200, `${what}: bob in ${scope}`)
      }
      t.equal(await me('web', cookies), 401, what)
      const again = await post('/phone/login/refresh', { refreshToken: mine.refreshToken })
      t.equal(again.statusCode, 401, what)
      if (what === 'a reset') continue
      t.ok((await enterWeb()).cookie, 'and can log in again')
    }
  })

  t.test(`a session that one registration revokes is none in the others, ${title}`, async (t) => {
    const { web, phone, post, me, enterPhone } = await setting(t, make())
    const first = await enterPhone()
    t.equal((await post('/phone/logout', {}, bearer(first.token))).statusCode, 204)
    const second = await enterPhone()
    t.equal(await web.authn.sessions.revoke({ sid: String(claimsOf(second.token).sid) }), 1)
    for (const scope of ['web', 'phone', 'plain'])
      for (const { token } of [first, second]) t.equal(await me(scope, bearer(token)), 401, scope)
    t.strictSame(await phone.authn.sessions.list(1), [])
    const third = await enterPhone()
    t.equal(await phone.authn.sessions.revoke({ sub: 1 }), 1)
    t.equal(await me('web', bearer(third.token)), 401)
  })
}

t.test('a login on a phone that began before the reset is a 401', async (t) => {
  let create = async (): Promise<void> => undefined
  const phones = storeWith(
    (store) => ({
      async create(session) {
        await create()
        return store.create(session)
      },
    }),
    memorySessions({ prefix: 'phones' }),
  )
  const { web, post, me, enterPhone } = await setting(t, [memorySessions(), phones])
  create = async () => void (await web.authn.sessions.revoke({ sub: 1 }))
  const late = await post('/phone/login', { email, password })
  t.equal(late.statusCode, 401)
  create = async () => undefined
  t.equal(await me('web', bearer((await enterPhone()).token)), 200)
})

t.test('while the store of one registration is away, nothing is revoked silently', async (t) => {
  const phones = breakable(memorySessions({ prefix: 'phones' }))
  const { web, tokens, post, enterWeb } = await setting(t, [memorySessions(), phones.factory])
  await post('/web/password/forgot', { email })
  await web.authn.accounts.settled()
  const payload = { token: tokens.pop(), password: newPassword }
  const cookies = await enterWeb()
  phones.failure = new Error('away')
  t.equal((await post('/web/logout', { everywhere: true }, cookies)).statusCode, 503)
  t.equal((await post('/web/password/reset', payload)).statusCode, 503)
  t.equal((await post('/web/login', { email, password })).statusCode, 200, 'the old password')
  phones.failure = null
  t.equal((await post('/web/password/reset', payload)).statusCode, 204)
})

t.test('sessions with another sub than those of the accounts are an error', async (t) => {
  const two = stores[0]?.[1]() as [SessionStoreFactory, SessionStoreFactory]
  const without = { login: { usernameField: 'email' } }
  const error = await rejectionOf(setting(t, two, without))
  t.match(error, { code: 'ERR_AUTH_OPTION', message: /"login.subject".*"\/phone"/ })
  const login = {
    usernameField: 'email',
    subject: (user: object) => (user as AccountUser).id,
    claims: () => ({ sub: 'other' }),
  }
  const { post } = await setting(t, two, { login })
  const response = await post('/phone/login', { email, password })
  t.equal(response.statusCode, 500)
  const byAddress = { ...login, subject: () => email, claims: () => ({}) }
  const other = await setting(t, two, { login: byAddress })
  t.equal((await other.post('/phone/login', { email, password })).statusCode, 500)
  const own = { jwt: { secret: secret.toUpperCase() }, userService: { findByUsername: () => null } }
  t.ok(await setting(t, two, { ...without, ...own }), 'other users')
})
