// `cookies.apps`: one registration whose browsers have cookies, and whose other clients have tokens in the body.
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { memorySessions } from '../../lib/sessions/index.js'
import { accountsApp, answerOf, newPassword, password } from '../helpers/accounts.js'
import {
  appWith,
  bearer,
  logLines,
  passwords,
  standardOptions,
  userService,
  type TestApp,
} from '../helpers/app.js'
import { cookiesOf, crossSite, linesOf, tls } from '../helpers/cookies.js'
import { setNodeEnv } from '../helpers/environment.js'
import { isRejection, type AnyResponse } from '../helpers/flows.js'
import { loginApp } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { breakable, eventsOf, pairOf } from '../helpers/sessions.js'

type Headers = Record<string, string | string[]>

const alice = { username: 'alice', password: passwords.alice }
const inBody = { 'token-delivery': 'body' }
const cookies = { apps: true }
const rejected = {
  status: 400,
  error: 'Tokens in the body are only for clients that are not browsers.',
  challenge: null,
}
const members = ['token', 'refreshToken', 'expiresIn']

/** Values of the header that are not the one. */
const otherValues: Headers[] = [
  '',
  'Body',
  'BODY',
  'cookie',
  'body, body',
  'body;q=1',
  '"body"',
  'true',
  ['body', 'body'],
].map((value) => ({ 'token-delivery': value }))

/** What only a browser sends, whatever it is worth. */
const ofBrowsers: Headers[] = [
  ...['same-origin', 'same-site', 'cross-site', 'none', '', 'x'].map((value) => ({
    'sec-fetch-site': value,
  })),
  ...['empty', 'document', 'serviceworker', ''].map((value) => ({ 'sec-fetch-dest': value })),
  ...['http://shop.example', 'https://evil.example', 'null', '', 'file://'].map((origin) => ({
    origin,
  })),
  { 'SEC-FETCH-SITE': 'same-origin' },
]

/** Cookies of ours, under both names. */
const ours: Headers[] = ['__Host-token', '__Host-refresh', 'token', 'refresh']
  .flatMap((name) => [`${name}=x`, `a=b; ${name}=`, `${name}=x; ${name}=y`])
  .map((cookie) => ({ cookie }))

/** What other clients may send. */
const harmless: Headers[] = [
  {},
  { 'sec-fetch-mode': 'cors' },
  { 'user-agent': 'Mozilla/5.0 Chrome/140', referer: 'https://shop.example/', accept: '*/*' },
  { cookie: 'theme=dark; __Host-shop-token=x; __host-token=x; tokens=x; ftoken=x; refreshToken=x' },
]

/** An app with a route of its own that logs in, and one that refreshes, by GET too. */
async function setting(t: Test, options: Partial<AuthnOptions> = {}) {
  const service = userService()
  const store = breakable(memorySessions())
  const { lines, stream } = logLines()
  const all = { ...standardOptions(), userService: service, cookies, ...options }
  const sessions = { store: store.factory }
  const declare = (app: TestApp): void => {
    app.get('/me', { config: { auth: true } }, ({ user }) => user)
    app.post('/notes', { config: { auth: true } }, ({ user }) => user)
    const begin = { url: '/begin', method: ['GET', 'POST', 'PUT'] as ['GET', 'POST', 'PUT'] }
    app.route({
      ...begin,
      handler: (request, reply) => app.authn.sessions.begin('alice', request, reply),
    })
    app.route<{ Body: { code: string }; Querystring: { code: string } }>({
      ...begin,
      url: '/exchange',
      handler: (request, reply) => {
        const { code } = request.body ?? request.query
        return app.authn.sessions.refresh(code, request, reply)
      },
    })
  }
  const server = { trustProxy: true, logger: { stream } }
  const app = await appWith(t, { sessions, ...all }, declare, server)
  const ask = (
    method: 'GET' | 'HEAD' | 'POST' | 'PUT',
    url: string,
    headers: Headers = {},
    payload?: object,
  ): Promise<AnyResponse> =>
    app.inject({
      method,
      url,
      headers: { ...tls, ...headers } as never,
      ...(payload && { payload }),
    })
  const post = (url: string, payload?: object, headers?: Headers) =>
    ask('POST', url, headers, payload)
  return {
    app,
    service,
    store,
    lines,
    ask,
    post,
    me: async (headers: Headers) => (await ask('GET', '/me', headers)).statusCode,
    /** Logs a phone in. */
    phone: async () => pairOf(await post('/login', alice, inBody)),
    /** Logs a browser in. @returns its cookies by name, and all of them as a header */
    async browser() {
      const response = await post('/login', alice, { 'sec-fetch-site': 'same-origin' })
      const jar = cookiesOf(response).map(({ name, value }) => `${name}=${value}`)
      const [access = '', refresh = ''] = jar
      return {
        access: { cookie: access },
        refresh: { cookie: refresh },
        all: { cookie: jar.join('; ') },
      }
    },
    sessions: async () => (await app.authn.sessions.list('alice')).length,
  }
}

t.test('a client that is no browser gets its tokens in the body, if it asks', async (t) => {
  const { post, me, app, ask } = await setting(t)
  const logins = eventsOf(t, 'login')
  for (const headers of harmless) {
    for (const [url, body] of [
      ['/login', alice],
      ['/begin', undefined],
    ] as const) {
      const title = `${url} ${JSON.stringify(headers)}`
      const response = await post(url, body, { ...headers, ...inBody })
      const pair = pairOf(response)
      t.strictSame(Object.keys(pair), members, title)
      t.strictSame(linesOf(response), [], title)
      t.equal(response.headers['cache-control'], 'no-store')
      t.equal(await me(bearer(pair.token)), 200, title)
      const refreshed = await post(
        '/exchange',
        { code: pair.refreshToken },
        { ...headers, ...inBody },
      )
      t.strictSame(Object.keys(pairOf(refreshed)), members, title)
      t.strictSame(linesOf(refreshed), [])
      t.equal(refreshed.headers['cache-control'], 'no-store')
    }
  }
  t.equal(logins.length, 8)
  t.equal((await ask('PUT', '/begin', inBody)).statusCode, 200)
  // All others get cookies.
  for (const headers of [{}, ...ofBrowsers.slice(0, 1)]) {
    for (const response of [
      await post('/login', alice, headers),
      await post('/begin', {}, headers),
    ]) {
      t.equal(response.body, '{"expiresIn":300}')
      const found = cookiesOf(response).map(({ name }) => name)
      t.strictSame(found, ['__Host-token', '__Host-refresh'])
    }
  }
  t.equal(
    (await app.inject({ method: 'POST', url: '/login', payload: alice })).body,
    '{"expiresIn":300}',
  )
})

t.test('without sessions, and with login.body, the body is that of tokens too', async (t) => {
  const { post, me } = await setting(t, { sessions: false })
  const response = await post('/login', alice, inBody)
  const { token, ...others } = JSON.parse(response.body) as { token: string }
  t.strictSame([others, linesOf(response)], [{}, []])
  t.equal(await me(bearer(token)), 200)
  t.equal((await post('/login', alice)).body, '{"expiresIn":300}')

  const body = ({ token, ...more }: object & { token?: string | undefined }) => ({
    access: token,
    ...more,
  })
  const renamed = await setting(t, { login: { body } })
  const keys = async (...request: Parameters<typeof post>) =>
    Object.keys(JSON.parse((await renamed.post(...request)).body) as object)
  t.strictSame(await keys('/login', alice, inBody), ['access', 'refreshToken', 'expiresIn'])
  t.strictSame(await keys('/login', alice), ['expiresIn'])
})

t.test('a browser that asks is rejected before its password is checked', async (t) => {
  const { post, service, store, lines } = await setting(t, {
    throttle: { perUsername: 1, perAddress: 1 },
  })
  const failures = eventsOf(t, 'failure')
  const wrong = { ...alice, password: 'wrong' }
  for (const headers of [...otherValues, ...ofBrowsers, ...ours]) {
    const title = JSON.stringify(headers)
    for (const body of [alice, wrong, { username: 'nobody', password: 'x' }]) {
      const response = await post('/login', body, { ...inBody, ...headers })
      // The check against CSRF comes first.
      const isCrossSite = response.statusCode === 403
      isRejection(t, response, isCrossSite ? crossSite : rejected, title)
      t.strictSame(linesOf(response), [], title)
    }
  }
  // What passes that check.
  for (const headers of [
    { 'sec-fetch-site': 'same-origin', origin: 'https://shop.example' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://shop.example' },
    { 'sec-fetch-dest': '' },
    ...otherValues,
    ...ours,
  ])
    isRejection(t, await post('/login', alice, { ...inBody, ...headers }), rejected)
  const trustedOrigins = ['https://partner.example']
  const trusting = await setting(t, { cookies: { apps: true, trustedOrigins } })
  const partner = { ...inBody, origin: trustedOrigins[0] as string, 'sec-fetch-site': 'cross-site' }
  isRejection(t, await trusting.post('/login', alice, partner), rejected, 'of a trusted origin')
  t.strictSame(service.asked, [])
  t.strictSame(store.calls, [])
  t.strictSame(
    [...new Set(failures.map((event) => `${event.authenticator} ${event.code}`))].toSorted(),
    ['login ERR_AUTH_CROSS_SITE', 'login ERR_AUTH_TOKEN_DELIVERY'],
  )
  const found = lines.find(({ code }) => code === 'ERR_AUTH_TOKEN_DELIVERY')
  t.match(found, { level: 30, authenticator: 'login', reason: String })
  t.equal((await post('/login', alice, inBody)).statusCode, 200, 'none of these was throttled')
})

t.test('the reason in the log has nothing of what the client has sent', async (t) => {
  const { post, lines } = await setting(t)
  const headers = { origin: 'https://hush.example', cookie: 'token=hush', 'sec-fetch-site': 'none' }
  await post('/begin', {}, { ...headers, 'token-delivery': 'hush' })
  const line = lines.find(({ code }) => code === 'ERR_AUTH_TOKEN_DELIVERY')
  t.match(line, { authenticator: 'login', reason: /^sec-fetch-site, origin, token, \w/ })
  t.notMatch(JSON.stringify(lines), 'hush')
})

t.test('a route of the app gives no tokens to a browser that asks', async (t) => {
  const { ask, post, store, phone, sessions, me } = await setting(t, {
    throttle: { perAddress: 1 },
  })
  const failures = eventsOf(t, 'failure')
  const { refreshToken, token } = await phone()
  const isNone = (response: AnyResponse, title: string): void => {
    t.match(
      [response.statusCode, JSON.parse(response.body)],
      [400, { code: 'ERR_AUTH_TOKEN_DELIVERY' }],
      title,
    )
    t.strictSame([linesOf(response), response.headers['cache-control']], [[], 'no-store'], title)
  }
  store.calls.length = 0
  for (const headers of [...otherValues, ...ofBrowsers, ...ours]) {
    const title = JSON.stringify(headers)
    isNone(await post('/begin', {}, { ...inBody, ...headers }), `begin ${title}`)
    for (const code of [refreshToken, 'x', ''])
      isNone(await post('/exchange', { code }, { ...inBody, ...headers }), `refresh ${title}`)
    t.strictSame(
      failures.splice(0).map((event) => `${event.authenticator} ${event.code}`),
      ['login', 'refresh', 'refresh', 'refresh'].map((name) => `${name} ERR_AUTH_TOKEN_DELIVERY`),
    )
  }
  // Where a browser sends no `Sec-Fetch-Site`, its GET of the same origin has no `Origin` either.
  isNone(await ask('GET', '/begin', inBody), 'GET')
  isNone(await ask('GET', `/exchange?code=${refreshToken}`, inBody), 'GET')
  t.equal((await ask('HEAD', '/begin', inBody)).statusCode, 400)
  t.strictSame(store.calls, [])
  t.equal(
    (await ask('GET', '/begin')).body,
    '{"expiresIn":300}',
    'a link, such as that of a provider',
  )
  t.equal(await sessions(), 2)
  t.equal(await me(bearer(token)), 200)
  const next = await post('/exchange', { code: refreshToken }, inBody)
  t.strictSame(Object.keys(pairOf(next)), members, 'not used up, and not throttled')
})

t.test('a refresh token in the body is answered there, one in a cookie by cookies', async (t) => {
  const { post, phone, browser, me, store } = await setting(t)
  const first = await phone()
  // The header does not matter here.
  const wishes = [{}, inBody, { 'token-delivery': 'cookie' }, { 'token-delivery': '' }]
  let { refreshToken } = first
  for (const headers of wishes) {
    const response = await post('/login/refresh', { refreshToken }, headers)
    t.strictSame([Object.keys(pairOf(response)), linesOf(response)], [members, []])
    t.equal(response.headers['cache-control'], 'no-store')
    refreshToken = pairOf(response).refreshToken
  }
  let jar = await browser()
  for (const headers of [...wishes, { 'sec-fetch-site': 'same-origin', ...inBody }]) {
    const response = await post('/login/refresh', {}, { ...headers, ...jar.refresh })
    t.equal(response.body, '{"expiresIn":300}')
    const [, cookie] = cookiesOf(response)
    t.equal(linesOf(response).length, 2)
    jar = { ...jar, refresh: { cookie: `${cookie?.name}=${cookie?.value}` } }
  }

  // With both, and from a browser, it is a 400, by which neither token is used up.
  const asked = store.calls.length
  const both = [jar.access, jar.refresh, jar.all, ...ours]
  const passing = [{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-dest': '' }]
  const own = { origin: 'https://shop.example' }
  for (const headers of [...both, ...passing, own, { ...own, ...jar.refresh }]) {
    for (const url of ['/login/refresh', '/logout'])
      for (const wish of wishes) {
        const response = await post(url, { refreshToken }, { ...headers, ...wish })
        isRejection(t, response, rejected, `${url} ${JSON.stringify(headers)}`)
        t.strictSame(linesOf(response), [])
      }
  }
  for (const url of ['/login/refresh', '/logout'])
    isRejection(t, await post(url, { refreshToken }, { origin: '' }), crossSite)
  t.equal(store.calls.length, asked)
  t.equal((await post('/login/refresh', { refreshToken })).statusCode, 200)
  t.equal((await post('/login/refresh', {}, jar.refresh)).statusCode, 200)
  t.equal(await me(bearer(first.token)), 200)
})

t.test('a logout by a token in the body sets no cookie, nor does a 401', async (t) => {
  const { post, phone, browser, me } = await setting(t)
  const [one, two, three] = [await phone(), await phone(), await phone()]
  const left = await post('/logout', { refreshToken: one.refreshToken }, inBody)
  t.strictSame([left.statusCode, linesOf(left)], [204, []])
  const { token, refreshToken } = two
  const both = await post('/logout', { refreshToken }, { ...bearer(token), ...inBody })
  t.strictSame([both.statusCode, linesOf(both)], [204, []])
  const found = await Promise.all([one, two, three].map((each) => me(bearer(each.token))))
  t.strictSame(found, [401, 401, 200])
  for (const url of ['/login/refresh', '/logout', '/exchange']) {
    const again = await post(url, { refreshToken, code: refreshToken }, inBody)
    t.strictSame([again.statusCode, linesOf(again)], [401, []], url)
  }
  const jar = await browser()
  t.equal(linesOf(await post('/logout', {}, { ...jar.all, ...inBody })).length, 2)
  t.equal(linesOf(await post('/login/refresh', {}, jar.refresh)).length, 2, 'a 401 deletes them')
})

// What refresh tokens in the body do then is in test/sessions/cookies.test.ts.
t.test('without apps the header is ignored', async (t) => {
  for (const option of [true, {}, { apps: false }] as const) {
    const { post } = await setting(t, { cookies: option })
    for (const headers of [inBody, ...otherValues]) {
      t.equal((await post('/login', alice, headers)).body, '{"expiresIn":300}')
      t.equal((await post('/begin', {}, headers)).body, '{"expiresIn":300}')
    }
  }
  const { app } = await setting(t, { cookies: undefined as never })
  const tokens = await app.inject({
    method: 'POST',
    url: '/login',
    payload: alice,
    headers: { origin: '' },
  })
  t.strictSame(Object.keys(pairOf(tokens)), members, 'without cookies')
})

/** An app with accounts, where alice has a session of each kind. */
async function accounts(t: Test) {
  const setting = await accountsApp(t, {}, { cookies })
  const { post } = setting
  const email = 'alice@example.com'
  const phone = async () => bearer(pairOf(await post('/login', { email, password }, inBody)).token)
  return { ...setting, email, phone, browser: () => setting.logIn() }
}

t.test('sign-up/finish and password/change give tokens in the body', async (t) => {
  const { post, tokenOf, me, phone, browser, email } = await accounts(t)
  const link = await tokenOf('/sign-up', { email: 'dora@example.com' })
  const finished = await post('/sign-up/finish', { token: link, password: newPassword }, inBody)
  t.strictSame([Object.keys(pairOf(finished)), linesOf(finished)], [members, []])
  t.equal(finished.headers['cache-control'], 'no-store')
  t.equal(await me(bearer(pairOf(finished).token)), 200)

  const before = [await phone(), await browser()] as const
  const change = { currentPassword: password, password: newPassword }
  const changed = await post('/password/change', change, { ...before[0], ...inBody })
  t.strictSame([Object.keys(pairOf(changed)), linesOf(changed)], [members, []])
  t.equal(changed.headers['cache-control'], 'no-store')
  t.strictSame([await me(before[0]), await me(before[1])], [401, 401])
  t.equal(await me(bearer(pairOf(changed).token)), 200)

  const both = [bearer(pairOf(changed).token), await browser()] as const
  const reset = { token: await tokenOf('/password/forgot', { email }), password }
  t.equal(answerOf(await post('/password/reset', reset, inBody)), '204')
  t.strictSame([await me(both[0]), await me(both[1])], [401, 401])
})

t.test('nothing is stored for a browser that asks', async (t) => {
  const { send, tokenOf, me, phone, browser, table, app, mails } = await accounts(t)
  const token = await tokenOf('/sign-up', { email: 'dora@example.com' })
  const finish = { token, password: newPassword }
  const change = { currentPassword: password, password: newPassword }
  const before = structuredClone(table)
  const [own, cookie] = [await phone(), await browser()]
  const code = '400 ERR_AUTH_TOKEN_DELIVERY'
  const passing = [{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }]
  const asking = [...passing, { 'sec-fetch-dest': '' }, ...otherValues, ...ours] as Record<
    string,
    string
  >[]
  for (const headers of asking) {
    const title = JSON.stringify(headers)
    t.equal(await send('/sign-up/finish', finish, { ...inBody, ...headers }), code, title)
    t.equal(await send('/password/change', change, { ...inBody, ...own, ...headers }), code, title)
  }
  const page = { ...cookie, ...inBody, 'sec-fetch-site': 'same-origin' }
  t.equal(await send('/password/change', change, page), code)
  t.strictSame(table, before)
  t.strictSame(
    [await me(own), await me(cookie), (await app.authn.sessions.list(1)).length],
    [200, 200, 2],
  )
  t.strictSame(await mails(), [])
  t.equal(await send('/sign-up/finish', finish, inBody), '200 tokens', 'the link still works')
  t.equal(await send('/password/change', change, { ...inBody, ...own }), '200 tokens')
})

t.test('the other routes of accounts ignore the header', async (t) => {
  const { send, tokenOf, browser, email, mails } = await accounts(t)
  const page = async (): Promise<Record<string, string>> => ({
    ...(await browser()),
    'sec-fetch-site': 'same-origin',
    'token-delivery': 'x',
  })
  t.equal(await send('/sign-up', { email: 'dora@example.com' }, await page()), '202 {}')
  t.match(await mails(), [{ kind: 'sign-up' }])
  const token = await tokenOf('/password/forgot', { email }, await page())
  t.equal(await send('/password/reset', { token, password: newPassword }, await page()), '204')
  const own = await page()
  const currentPassword = newPassword
  const move = { email: 'alice@new.example', currentPassword }
  const link = await tokenOf('/email/change', move, own)
  t.equal(await send('/email/confirm', { token: link }, own), '204')
  t.equal(await send('/account/delete', { currentPassword }, own), '204')
})

t.test('a login with a provider ends with cookies, whatever the header says', async (t) => {
  const provider = await startProvider(t)
  const { app, begin, get } = await loginApp(t, provider, {}, { cookies })
  for (const wish of [inBody, { 'token-delivery': 'x' }]) {
    const { callback, cookie } = await begin()
    const url = callback.pathname + callback.search
    const response = await app.inject({ url, headers: { ...tls, cookie, ...wish } })
    t.equal(response.statusCode, 303)
    t.equal(response.body, '')
    const jar = cookiesOf(response).filter(({ value }) => value !== '')
    const found = jar.map(({ name }) => name)
    t.strictSame(found, ['__Host-token', '__Host-refresh'])
    t.equal(
      (await get('/me', jar.map(({ name, value }) => `${name}=${value}`).join('; '))).statusCode,
      200,
    )
  }
})

t.test('the names of the cookies follow cookies.name, in production too', async (t) => {
  setNodeEnv(t, 'production')
  const jwt = { secret: randomBytes(32).toString('base64url') }
  const { post } = await setting(t, { cookies: { apps: true, name: 'shop' }, jwt })
  for (const name of ['__Host-shop-token', '__Host-shop-refresh', 'shop-token', 'shop-refresh'])
    isRejection(t, await post('/login', alice, { ...inBody, cookie: `${name}=x` }), rejected, name)
  const others = { cookie: '__Host-token=x; __Host-refresh=x; token=x; refresh=x' }
  t.equal((await post('/login', alice, { ...inBody, ...others })).statusCode, 200)
})
