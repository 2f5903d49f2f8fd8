// Who may call which route, from where, and with which bodies.
import formbody from '@fastify/formbody'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { accountsApp, answerOf, newPassword, password } from '../helpers/accounts.js'
import { basic, bearer, secret } from '../helpers/app.js'
import { linesOf } from '../helpers/cookies.js'
import { startIssuer } from '../helpers/issuer.js'
import { claimsOf, eventsOf } from '../helpers/sessions.js'

const alice = 'alice@example.com'
/** Each route with the names of the members that its body needs. */
const routes: Record<string, readonly string[]> = {
  '/sign-up': ['email'],
  '/sign-up/finish': ['token', 'password'],
  '/password/forgot': ['email'],
  '/password/reset': ['token', 'password'],
  '/password/change': ['password'],
  '/password/set': [],
  '/email/change': ['email'],
  '/email/confirm': ['token'],
  '/account/delete': [],
}
/** And with those that it may leave out. */
const optional: Record<string, readonly string[]> = {
  '/password/change': ['currentPassword', 'token'],
  '/email/change': ['currentPassword'],
  '/account/delete': ['currentPassword'],
}
const all = Object.keys(routes)
const own = all.slice(4)
const body = {
  email: 'dora@example.com',
  password: newPassword,
  currentPassword: password,
}
/** With a link, which `/password/change` takes in place of the current password. */
const withToken = { ...body, token: 'a.b.c' }

t.test('the own routes need the access token of a session of the user', async (t) => {
  const issuer = await startIssuer(t)
  const theirs = {
    ...issuer.options(),
    user: () => ({ id: 1, email: alice }),
  }
  const apiKeys = { store: memoryApiKeys(), prefix: 'shop' }
  const setting = await accountsApp(t, {}, { issuers: { theirs }, apiKeys })
  const { app, send, logIn, table, mails, me } = setting
  const failures = eventsOf(t, 'failure')
  const tokens = app.jwtService
  const headers = await logIn()
  const claims = claimsOf(headers.authorization ?? '')
  const acting = { ...claims, act: { sub: 2 } }
  const { key } = await app.authn.apiKeys.issue({
    owner: '1',
    name: 'job',
    scopes: [],
    expiresAt: null,
  })
  const otherTag = { ...claims, sid: `${String(claims.sid).split('.')[0]}.another` }
  const rows: [title: string, headers: Record<string, string>, answer: string][] = [
    ['nothing', {}, '401 ERR_AUTH_NO_CREDENTIALS'],
    ['Basic', basic(alice, password), '401 ERR_AUTH_NO_CREDENTIALS'],
    ['an API key', bearer(key), '401 ERR_AUTH_API_KEY_NOT_ACCEPTED'],
    ['a token of an issuer', bearer(issuer.token()), '401 ERR_AUTH_CREDENTIALS_NOT_ACCEPTED'],
    ['a wrong token', bearer('a.b.c'), '401 ERR_AUTH_JWT_INVALID'],
    ['a token without a session', bearer(tokens.generateToken(1)), '403 ERR_AUTH_FORBIDDEN'],
    [
      'another registration',
      bearer(tokens.generateTokenWithClaims(otherTag)),
      '403 ERR_AUTH_FORBIDDEN',
    ],
    ['impersonation', bearer(tokens.generateTokenWithClaims(acting)), '403 ERR_AUTH_FORBIDDEN'],
    [
      'any act',
      bearer(tokens.generateTokenWithClaims({ ...claims, act: null })),
      '403 ERR_AUTH_FORBIDDEN',
    ],
  ]
  const before = JSON.stringify(table)
  for (const [title, headers, answer] of rows) {
    for (const url of own) {
      const response = await setting.post(url, withToken, headers)
      t.equal(answerOf(response), answer, `${title}: ${url}`)
      t.match(response.headers, { 'cache-control': 'no-store' })
      t.equal(response.statusCode === 401, 'www-authenticate' in response.headers)
    }
  }
  t.equal(JSON.stringify(table), before)
  t.strictSame(await mails(), [])
  t.equal(await me(headers), 200, 'nothing was revoked')
  t.match(failures.at(-1), { code: 'ERR_AUTH_FORBIDDEN', authenticator: 'account' })
  t.equal(await send('/email/change', body, headers), '202 {}')
})

t.test('the open routes ignore credentials, whatever they are', async (t) => {
  const { send } = await accountsApp(t)
  for (const headers of [bearer('a.b.c'), basic('mallory', 'x'), { authorization: '?' }]) {
    t.equal(await send('/sign-up', body, headers), '202 {}')
    t.equal(await send('/password/reset', withToken, headers), '400 ERR_AUTH_LINK_INVALID')
  }
})

t.test('with cookies, pages of other sites can call none of them', async (t) => {
  const { post, send, logIn, mails, table, asked } = await accountsApp(t, {}, { cookies: true })
  const jar = await logIn()
  const before = JSON.stringify(table)
  asked.length = 0
  for (const url of all) {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      const response = await post(url, withToken, { ...jar, ...headers })
      t.equal(answerOf(response), '403 ERR_AUTH_CROSS_SITE', url)
      t.strictSame(linesOf(response), [])
    }
  }
  t.strictSame([JSON.stringify(table), await mails(), asked], [before, [], []])
  const page = { ...jar, 'sec-fetch-site': 'same-origin' }
  t.equal(await send('/sign-up', body, page), '202 {}')
  t.equal(await send('/account/delete', body, page), '204')
})

t.test('without cookies, pages of other sites may call the open ones', async (t) => {
  const { send } = await accountsApp(t)
  t.equal(await send('/sign-up', body, { 'sec-fetch-site': 'cross-site' }), '202 {}')
})

t.test('bodies are strict, and other members of them are ignored', async (t) => {
  const { post, logIn, table, mails, asked } = await accountsApp(t)
  const headers = await logIn()
  const before = JSON.stringify(table)
  asked.length = 0
  const valid: Record<string, unknown> = { email: alice, token: 'a.b.c', password: newPassword }
  const ask = async (url: string, payload: unknown, type = 'application/json') => {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
    const response = await post(url, text, { ...headers, 'content-type': type })
    t.match(response.headers, { 'cache-control': 'no-store' })
    return answerOf(response)
  }
  for (const [url, needed] of Object.entries(routes)) {
    for (const name of [...needed, ...(optional[url] ?? [])]) {
      for (const value of [1, 0, true, null, [], ['a'], {}, { $ne: '' }, [alice]])
        t.equal(await ask(url, { ...valid, [name]: value }), '400 FST_ERR_VALIDATION')
      if (name === 'token')
        t.equal(await ask(url, { ...valid, token: '' }), '400 FST_ERR_VALIDATION')
      if (!needed.includes(name)) continue
      t.equal(await ask(url, { ...valid, [name]: undefined }), '400 FST_ERR_VALIDATION', name)
      if (name === 'email')
        t.equal(await ask(url, { ...valid, email: '' }), '400 FST_ERR_VALIDATION')
    }
    for (const payload of ['null', '1', '"a"', '[]', '[{}]', 'true'])
      t.equal(await ask(url, payload), '400 FST_ERR_VALIDATION', payload)
    t.equal(await ask(url, ''), '400 FST_ERR_CTP_EMPTY_JSON_BODY')
    t.match(await ask(url, '{'), /^400 FST_ERR_CTP/)
    t.match(await ask(url, '{"__proto__": {"email": "a@b.c"}}'), /^400 FST_ERR_CTP/)
    t.equal(await ask(url, 'a', 'text/csv'), '415 FST_ERR_CTP_INVALID_MEDIA_TYPE')
    t.equal(
      await ask(url, { ...valid, more: 'a'.repeat(16_384) }),
      '413 FST_ERR_CTP_BODY_TOO_LARGE',
    )
    const bare = await post(url, undefined, headers)
    t.equal(answerOf(bare), '400 FST_ERR_VALIDATION')
  }
  const looked = new Set(asked)
  looked.delete(1)
  t.strictSame([JSON.stringify(table), await mails(), [...looked]], [before, [], []])
  t.equal(await ask('/sign-up', { ...valid, email: 'dora@example.com', more: [1] }), '202 {}')
})

t.test('forms are read where the app parses them', async (t) => {
  const form = (value: Record<string, string>): [string, Record<string, string>] => [
    new URLSearchParams(value).toString(),
    { 'content-type': 'application/x-www-form-urlencoded' },
  ]
  const without = await accountsApp(t)
  t.equal(await without.send('/sign-up', ...form(body)), '415 FST_ERR_CTP_INVALID_MEDIA_TYPE')
  const { post, logIn, mails, app, stored } = await accountsApp(t, {}, {}, (app) =>
    app.register(formbody),
  )
  const ask = async (url: string, value: Record<string, string>, headers = {}) => {
    const [payload, type] = form(value)
    return answerOf(await post(url, payload, { ...type, ...headers }))
  }
  const tokenOf = async (kind: string): Promise<string> =>
    String((await mails()).find((mail) => mail.kind === kind)?.token)
  t.equal(await ask('/sign-up', body), '202 {}')
  const finish = { token: await tokenOf('sign-up'), password: newPassword }
  t.equal(await ask('/sign-up/finish', finish), '200 tokens')
  t.equal(await ask('/password/forgot', { email: alice }), '202 {}')
  const reset = { token: await tokenOf('reset'), password }
  t.equal(await ask('/password/reset', reset), '204')
  t.equal(await ask('/password/change', body, await logIn()), '200 tokens')
  const headers = await logIn()
  const change = { email: 'alice@new.example', currentPassword: newPassword }
  t.equal(await ask('/email/change', change, headers), '202 {}')
  t.equal(await ask('/email/confirm', { token: await tokenOf('email-confirm') }, headers), '204')
  t.equal(await ask('/account/delete', change, headers), '204')
  t.equal(stored(1), undefined)
  t.equal(app.authn.stats().accounts?.created, 1)
})

t.test('rejections are localized as others are, with the status of their codes', async (t) => {
  const { post, logIn, app } = await accountsApp(
    t,
    { limits: { perRecipient: 1 } },
    {
      errorBody: undefined,
    },
  )
  const headers = await logIn()
  const failures = eventsOf(t, 'failure')
  const throttled = eventsOf(t, 'throttled')
  const more = { ...body, password: 'short', currentPassword: 'wrong' }
  const link = { ...more, token: 'a.b.c' }
  await post('/sign-up', body)
  const rows: [url: string, body: object, status: number][] = [
    ['/sign-up', more, 429],
    ['/password/reset', link, 400],
    ['/password/change', more, 403],
  ]
  for (const [url, body, status] of rows) {
    const response = await post(url, body, { ...headers, 'accept-language': 'en' })
    t.equal(response.statusCode, status)
    t.match(response.headers, {
      'content-language': 'en',
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      vary: 'Accept-Language',
      'www-authenticate': undefined,
    })
    t.match(JSON.parse(response.body), { error: String })
  }
  t.match(
    [throttled, failures],
    [
      [{ code: 'ERR_AUTH_TOO_MANY_MAILS', authenticator: 'account' }],
      [
        { code: 'ERR_AUTH_LINK_INVALID', authenticator: 'account' },
        { code: 'ERR_AUTH_CURRENT_PASSWORD', authenticator: 'account' },
      ],
    ],
  )
  t.ok(app.authn.features.includes('accounts'))
})

t.test('hooks of routeOptions run before any e-mail is counted', async (t) => {
  let isHuman = false
  const asked: string[] = []
  const { send, mails } = await accountsApp(t, {
    limits: { perRecipient: 1 },
    routeOptions: {
      preHandler: async (request) => {
        asked.push(request.url)
        if (!isHuman) throw Object.assign(new Error('CAPTCHA'), { statusCode: 418, code: 'ROBOT' })
      },
    },
  })
  for (const url of all.slice(0, 4)) t.equal(await send(url, withToken), '418 ROBOT')
  t.equal(await send('/account/delete', body), '401 ERR_AUTH_NO_CREDENTIALS')
  t.strictSame([await mails(), asked], [[], all.slice(0, 4)])
  isHuman = true
  t.equal(await send('/sign-up', body), '202 {}')
})

t.test('a body that a hook has replaced is checked again', async (t) => {
  const preHandler = async (request: FastifyRequest): Promise<void> => {
    request.body = { email: { $ne: '' }, token: 1, password: null, currentPassword: [] }
  }
  const { send, asked, logIn } = await accountsApp(t, { routeOptions: { preHandler } })
  const headers = await logIn()
  for (const url of all.filter((each) => each !== '/password/set'))
    t.equal(await send(url, withToken, headers), '400 FST_ERR_VALIDATION', url)
  t.strictSame([...new Set(asked)], [1])
})

t.test('the paths are beside that of the login, and keep its prefix', async (t) => {
  const login = { usernameField: 'email', path: '/auth/login/', subject: () => 1 }
  const { app, send } = await accountsApp(t, {}, { login, jwt: { secret } })
  for (const url of all) t.ok(app.hasRoute({ method: 'POST', url: `/auth${url}` }), url)
  for (const url of all) t.notOk(app.hasRoute({ method: 'POST', url }), url)
  t.equal(await send('/auth/sign-up', body), '202 {}')
})
