// An AuthenticationError that findByUsername or login.claims throws: a user whom the app rejects, such as a suspended one.
import bcrypt from 'bcrypt'
import t from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { AuthenticationError, type AuthnOptions } from '../../lib/index.js'
import { accountsApp, accountsOver, answerOf, newPassword, password } from '../helpers/accounts.js'
import { appWith, basic, bearer, secret } from '../helpers/app.js'
import { browser, passkeysApp, passkeysOver } from '../helpers/passkeys.js'
import { eventsOf, pairOf } from '../helpers/sessions.js'

const text = 'Your account is suspended.'
const told = { statusCode: 401, body: JSON.stringify({ error: text }) }
const suspended = (): never => {
  throw new AuthenticationError(text)
}
const alice = 'alice@example.com'
const nobody = 'nobody@example.com'

/** How often a password was compared with a hash. */
let compared = 0
const { compare } = bcrypt
t.before(() => {
  bcrypt.compare = ((...given: Parameters<typeof compare>) => {
    compared += 1
    return compare(...given)
  }) as typeof compare
})
t.teardown(() => Object.assign(bcrypt, { compare }))

t.test('login.claims tells a user the reason, once the user has proved who it is', async (t) => {
  let isSuspended = false
  const failures = eventsOf(t, 'failure')
  const created = eventsOf(t, 'account')
  const errorBody = ({ message }: { message: string }) => ({ error: message })
  const login = {
    usernameField: 'email',
    subject: (user: object) => (user as { id: number }).id,
    claims: () => (isSuspended ? suspended() : {}),
  }
  const app = await accountsApp(t, {}, { login, errorBody })
  const { post } = app
  const pair = pairOf(await post('/login', { email: alice, password }))
  const reset = await app.tokenOf('/password/forgot', { email: alice })
  const signUp = await app.tokenOf('/sign-up', { email: 'dora@example.com' })
  isSuspended = true
  t.match(await post('/login', { email: alice, password }), told)
  t.match(await post('/login/refresh', { refreshToken: pair.refreshToken }), told)
  t.match(await post('/password/reset', { token: reset, password: newPassword }), told)
  const found = failures.map(({ code }) => code)
  t.match(found, Array(3).fill('ERR_AUTH_REFUSED'))
  const wrong = await post('/login', { email: alice, password: 'x' })
  t.notMatch(wrong.body, text, 'a password that is wrong proves nothing')
  const body = { token: signUp, password: newPassword }
  t.match(await post('/sign-up/finish', body), told)
  t.equal(failures.length, 5, 'each is reported once')
  t.match(created, [{ action: 'created' }], 'the account was created')
  const later = await app.tokenOf('/password/forgot', { email: alice })
  t.match(await post('/password/reset', { token: later, password: newPassword }), told)
  isSuspended = false
  t.equal((await post('/login', { email: alice, password })).statusCode, 200, 'nothing has changed')
  const again = await post('/login/refresh', { refreshToken: pair.refreshToken })
  t.equal(again.statusCode, 200, 'the session was not used up')
})

t.test('findByUsername rejects a login like an unknown user, with the same work', async (t) => {
  const failures = eventsOf(t, 'failure')
  let reject: null | (() => unknown) = null
  const setting = await accountsApp(
    t,
    {},
    {
      apiKeys: { prefix: 'shop', store: memoryApiKeys() },
      userService: {
        async findByUsername(name: string | number) {
          const user = await accountsOver(setting.table).findByUsername(name)
          return (user?.id === 1 && reject ? reject() : user) as never
        },
      },
    },
    (app) => {
      app.get('/basic', { config: { auth: { use: 'basic' } } }, () => 'in')
      app.get('/key', { config: { auth: { use: 'apiKey', scope: 'a' } } }, () => 'in')
      app.get('/try', { config: { auth: { use: ['jwt', 'apiKey'], mode: 'try' } } }, (request) => ({
        user: request.user,
        ...request.extra,
      }))
    },
  )
  const { app } = setting
  const post = async (url: string, payload: object) => {
    const before = compared
    const { statusCode, body } = await app.inject({ method: 'POST', url, payload })
    return { statusCode, body, compared: compared - before }
  }
  const { token, refreshToken } = (
    await app.inject({ method: 'POST', url: '/login', payload: { email: alice, password } })
  ).json<{ token: string; refreshToken: string }>()
  const { key } = await app.authn.apiKeys.issue({
    owner: 1,
    name: 'job',
    scopes: ['a'],
    expiresAt: null,
  })
  const reset = await setting.tokenOf('/password/forgot', { email: alice })
  t.equal((await app.inject({ url: '/basic', headers: basic(alice, password) })).statusCode, 200)
  const ways: [string, () => unknown][] = [
    ['thrown', suspended],
    ['returned', () => new AuthenticationError(text)],
    [
      'with a code',
      () => Promise.reject(new AuthenticationError(text, { code: 'ERR_AUTH_FORBIDDEN' })),
    ],
  ]
  for (const [what, way] of ways) {
    reject = way
    failures.length = 0
    const ofUnknown = await post('/login', { email: nobody, password })
    t.ok(ofUnknown.compared > 0)
    t.strictSame(await post('/login', { email: alice, password }), ofUnknown, what)
    t.equal(failures.length, 2)
    const cached = await app.inject({ url: '/basic', headers: basic(alice, password) })
    const stranger = await app.inject({ url: '/basic', headers: basic(nobody, password) })
    t.strictSame([cached.statusCode, cached.body], [stranger.statusCode, stranger.body], what)
    t.strictSame(
      await post('/password/forgot', { email: alice }),
      await post('/password/forgot', { email: nobody }),
    )
    t.strictSame(await setting.mails(), [], 'and no e-mail')
    const status = what === 'with a code' ? 403 : 401
    const expected = `${status} ${status === 403 ? 'ERR_AUTH_FORBIDDEN' : 'ERR_AUTH_REFUSED'}`
    t.equal(answerOf(await app.inject({ url: '/me', headers: bearer(token) })), expected, what)
    t.equal(answerOf(await app.inject({ url: '/key', headers: bearer(key) })), expected, what)
    t.equal(
      answerOf(
        await app.inject({ method: 'POST', url: '/login/refresh', payload: { refreshToken } }),
      ),
      expected,
    )
    const payload = { token: reset, password: newPassword }
    t.equal(
      answerOf(await app.inject({ method: 'POST', url: '/password/reset', payload })),
      expected,
    )
    if (status === 403) continue
    for (const each of [token, key]) {
      const { user, apiKey, jwtClaims } = (
        await app.inject({ url: '/try', headers: bearer(each) })
      ).json<Record<string, unknown>>()
      t.strictSame([user, apiKey, jwtClaims], [null, undefined, undefined], 'anonymous')
    }
  }
  reject = () => {
    throw new AuthenticationError('auth.overloaded', { retryAfter: 5 })
  }
  const { statusCode } = await app.inject({
    method: 'POST',
    url: '/login',
    payload: { email: alice, password },
  })
  t.equal(statusCode, 503, 'a server that is busy says nothing about the user')
  reject = null
  t.equal(await setting.enter(alice, password), 200)
})

t.test('a passkey tells it after the signature, and a made-up handle tells nothing', async (t) => {
  let [byClaims, byName] = [false, false]
  const setting = await passkeysApp(t, passkeysOver([]), {
    login: {
      usernameField: 'email',
      subject: (user: object) => (user as { id: number }).id,
      claims: () => (byClaims ? suspended() : {}),
    } as AuthnOptions['login'],
    userService: {
      async findByUsername(name: string | number) {
        const user = setting.users.find(
          ({ id, email }) => String(id) === String(name) || email === name,
        )
        return user && byName ? suspended() : user
      },
    },
  })
  const { add, logIn, answer, post } = setting
  const passkey = browser()
  t.equal((await add(passkey, await logIn())).statusCode, 201)
  const stolen = await answer(passkey)
  const forged = { ...stolen, response: JSON.parse(JSON.stringify(stolen.response)) as object }
  const inner = (forged.response as { response: { signature: string } }).response
  inner.signature = Buffer.alloc(64, 7).toString('base64url')
  byClaims = true
  const invalid = { statusCode: 403, body: '{"code":"ERR_AUTH_PASSKEY_INVALID"}' }
  t.match(await post('/login/passkey', forged), invalid)
  t.match(await post('/login/passkey', stolen), { statusCode: 401, body: /ERR_AUTH_REFUSED/ })
  byClaims = false
  byName = true
  t.match(await post('/login/passkey', await answer(passkey)), invalid)
  byName = false
  t.equal((await post('/login/passkey', await answer(passkey))).statusCode, 200)
})

t.test('an API key whose owner is gone leaves a request anonymous in the mode try', async (t) => {
  const users = { findByUsername: () => null }
  const app = await appWith(
    t,
    { userService: users, jwt: { secret }, apiKeys: { prefix: 'shop', store: memoryApiKeys() } },
    (app) => {
      app.get('/try', { config: { auth: { use: 'apiKey', mode: 'try' } } }, ({ user, extra }) => [
        user,
        extra.apiKey ?? null,
      ])
    },
  )
  const { key } = await app.authn.apiKeys.issue({
    owner: 'alice',
    name: 'a key',
    scopes: [],
    expiresAt: null,
  })
  const response = await app.inject({ url: '/try', headers: bearer(key) })
  t.strictSame(response.json(), [null, null])
})
