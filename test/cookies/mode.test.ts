import { randomBytes } from 'node:crypto'
import t from 'tap'
import { lifeOf } from '../../lib/cookies/feature.js'
import { appWith, bearer, logLines, passwords, secret, standardOptions } from '../helpers/app.js'
import { setNodeEnv } from '../helpers/environment.js'
import { cookieApp, cookiesOf, linesOf, tls } from '../helpers/cookies.js'
import { bearerChallenge, nameOf, messages, type AnyResponse } from '../helpers/flows.js'

/** The names of the cookies that a reply sets. */
const namesIn = (response: AnyResponse): string[] => cookiesOf(response).map(({ name }) => name)
const payload = { username: 'alice', password: passwords.alice }

t.test('a login sets the token as a cookie, and shows it nowhere else', async (t) => {
  const { app, login, take } = await cookieApp(t)
  const response = await login()
  t.equal(response.statusCode, 200)
  t.equal(response.body, '{"expiresIn":300}')
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  t.equal(response.headers['cache-control'], 'no-store')
  const [cookie] = cookiesOf(response)
  t.strictSame(linesOf(response), [
    `__Host-token=${cookie?.value}; Max-Age=300; Path=/; Secure; HttpOnly; SameSite=Lax`,
  ])
  const headers = { ...tls, cookie: `__Host-token=${cookie?.value}` }
  const me = await app.inject({ url: '/me', headers })
  t.equal(me.body, '{"user":"alice","context":"alice"}')
  t.equal(me.headers['cache-control'], 'private')
  t.equal(take(), 1)
  const wrong = await login(tls, { password: 'wrong' })
  t.equal(wrong.statusCode, 401)
  t.strictSame(linesOf(wrong), [])
})

t.test('cookies.name and cookies.sameSite hold for both cookies', async (t) => {
  const cookies = { name: 'shop', sameSite: 'strict' } as const
  const { app, login } = await cookieApp(t, { cookies, sessions: true })
  const [token, refresh] = cookiesOf(await login())
  t.match(token, { name: '__Host-shop-token', attributes: { samesite: 'Strict' } })
  t.match(refresh, { name: '__Host-shop-refresh', attributes: { samesite: 'Strict' } })
  const status = async (name: string, value = '', method: 'GET' | 'POST' = 'GET') => {
    const headers = { ...tls, cookie: `${name}=${value}` }
    const url = method === 'GET' ? '/me' : '/login/refresh'
    return (await app.inject({ method, url, headers })).statusCode
  }
  const others = ['__Host-token', 'shop-token', 'token', '__host-shop-token', '__Secure-shop-token']
  for (const name of others) t.equal(await status(name, token?.value), 401, name)
  t.equal(await status('__Host-shop-token', token?.value), 200)
  t.equal(await status('__Host-refresh', refresh?.value, 'POST'), 401)
  t.equal(await status('__Host-shop-refresh', refresh?.value, 'POST'), 200)
})

t.test('cookies lack the prefix __Host- for localhost over http only', async (t) => {
  const { app, login } = await cookieApp(t)
  const local = ['localhost', 'localhost:3000', '127.0.0.1', '127.0.0.1:80']
  const names = ['shop.example', 'localhost.shop.example', 'xlocalhost', 'LOCALHOST']
  const odd = ['localhost:', 'localhost:3000x', 'evil.example?localhost']
  const others = [...names, ...odd, '127.0.0.1.nip.io', '127.0.0.2', '[::1]:3000']
  for (const host of local) {
    const response = await login({ host })
    const [cookie] = cookiesOf(response)
    t.strictSame(
      linesOf(response),
      [`token=${cookie?.value}; Max-Age=300; Path=/; HttpOnly; SameSite=Lax`],
      host,
    )
    const me = (name: string, more: object = {}) =>
      app.inject({ url: '/me', headers: { host, ...more, cookie: `${name}=${cookie?.value}` } })
    t.equal((await me('token')).statusCode, 200, host)
    const https = { 'x-forwarded-proto': 'https' }
    t.equal((await me('token', https)).statusCode, 401, `${host} over TLS`)
    t.equal((await me('__Host-token', https)).statusCode, 200, `${host} over TLS`)
  }
  for (const host of others) {
    const [cookie] = cookiesOf(await login({ host }))
    t.equal(cookie?.name, '__Host-token', host)
    t.ok(cookie?.attributes.secure, host)
  }
})

t.test('a request that a proxy passed on gets cookies with __Host-', async (t) => {
  const { app } = await cookieApp(t, { sessions: true })
  const https = 'https://shop.example'
  const rows: [isLocal: boolean, headers: Record<string, string>, address?: string][] = [
    [true, {}],
    [true, {}, '127.8.9.10'],
    [true, {}, '::1'],
    [true, {}, '::ffff:127.0.0.1'],
    [true, { origin: 'http://localhost:5173' }],
    [false, { origin: https }],
    [false, { origin: 'null' }],
    [false, { origin: 'HTTP://localhost' }],
    [false, { forwarded: 'for=127.0.0.1' }],
    [false, { 'x-forwarded-for': '127.0.0.1' }],
    [false, { 'X-Forwarded-Proto': 'http' }],
    [false, { 'x-forwarded-host': 'localhost:3000' }],
    [false, { 'x-forwarded-port': '' }],
    [false, { via: '1.1 proxy' }],
    [false, { 'X-Real-IP': '127.0.0.1' }],
    [false, { 'cf-connecting-ip': '127.0.0.1' }],
    [false, { 'true-client-ip': '127.0.0.1' }],
    [false, {}, '10.0.0.1'],
    [false, {}, '172.17.0.1'],
    [false, {}, '::ffff:10.0.0.1'],
    [false, {}, '127.0.0.1.example'],
  ]
  for (const [isLocal, more, address = '127.0.0.1'] of rows) {
    const title = JSON.stringify([more, address])
    const headers = { host: 'localhost:3000', 'sec-fetch-site': 'same-origin', ...more }
    const from = { remoteAddress: address, headers }
    const given = await app.inject({ method: 'POST', url: '/login', payload, ...from })
    const expected = ['token', 'refresh'].map((name) => (isLocal ? name : `__Host-${name}`))
    t.strictSame(namesIn(given), expected, title)
    const cookies = cookiesOf(given).map(({ name, value }) => `${name}=${value}`)
    const use = (cookie: string, method: 'GET' | 'POST', url: string, own = headers) =>
      app.inject({ method, url, remoteAddress: address, headers: { ...own, cookie } })
    t.equal((await use(cookies.join('; '), 'GET', '/me')).statusCode, 200, title)
    // Browsers send no Origin with a GET.
    const { origin: _, ...plain } = headers as Record<string, string>
    for (const cookie of [cookies.join('; '), cookies[0] ?? '']) {
      t.equal((await use(cookie, 'GET', '/me', plain as never)).statusCode, 200, title)
    }
    const [token, refresh] = cookiesOf(given)
    if (!isLocal) {
      const planted = `token=${token?.value}; refresh=${refresh?.value}`
      t.equal((await use(planted, 'GET', '/me')).statusCode, 401, title)
      t.equal((await use(planted, 'POST', '/login/refresh')).statusCode, 401, title)
    }
    const both = `${cookies.join('; ')}; token=${token?.value}x; refresh=x`
    if (!isLocal) t.equal((await use(both, 'GET', '/me', plain as never)).statusCode, 200, title)
    const refreshed = await use(`${refresh?.name}=${refresh?.value}`, 'POST', '/login/refresh')
    t.equal(refreshed.statusCode, 200, title)
    t.strictSame(namesIn(refreshed), expected, title)
    const left = await use(cookies.join('; '), 'POST', '/logout')
    t.equal(left.statusCode, 204, title)
    t.strictSame(namesIn(left), expected, title)
  }
})

t.test('cookies have the prefix __Host- wherever NODE_ENV is production', async (t) => {
  setNodeEnv(t, 'production')
  const jwt = { secret: randomBytes(32).toString('base64url') }
  const { login } = await cookieApp(t, { jwt })
  const [cookie] = cookiesOf(await login({ host: 'localhost:3000' }))
  t.equal(cookie?.name, '__Host-token')
  t.ok(cookie?.attributes.secure)
})

t.test('a warning says once that a login arrived over http', async (t) => {
  const { lines, stream } = logLines()
  const { login } = await cookieApp(t, {}, { logger: { stream } })
  const warnings = (): unknown[] => lines.filter(({ level }) => level === 40)
  await login({ host: 'localhost:3000' })
  await login(tls)
  t.strictSame(warnings(), [])
  for (const host of ['shop.example', 'other.example']) await login({ host })
  t.match(warnings(), [{ msg: /a login arrived over http.*set trustProxy/ }])
  t.equal(warnings().length, 1)
})

t.test('a warning says once that a client asks for tokens without cookies.apps', async (t) => {
  const { lines, stream } = logLines()
  const warnings = (): unknown[] => lines.filter(({ level }) => level === 40)
  const asks = { ...tls, 'token-delivery': 'body' }
  for (const [cookies, headers, count] of [
    [true, tls, 0],
    [{ apps: true }, asks, 0],
    // Its tokens are in the body.
    [undefined, asks, 0],
    [true, asks, 1],
  ] as const) {
    const options = { cookies, sessions: true }
    const { login } = await cookieApp(t, options, { logger: { stream } })
    for (const _ of ['once', 'twice']) t.equal((await login(headers)).statusCode, 200)
    t.equal(warnings().length, count)
  }
  t.match(warnings(), [{ msg: /Token-Delivery.*apps: true/ }])
})

t.test('a warning says once that a page of another site logs in', async (t) => {
  const { lines, stream } = logLines()
  const origin = 'http://localhost:5173'
  const app = await cookieApp(t, { cookies: { trustedOrigins: [origin] } }, { logger: { stream } })
  const login = async (more: object): Promise<unknown> =>
    (await app.login({ host: '127.0.0.1:3000', origin, ...more })).statusCode
  const warnings = (): unknown[] => lines.filter(({ level }) => level === 40)
  const crossSite = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }
  t.equal(await login({ 'sec-fetch-site': 'same-site' }), 200)
  t.equal(await login({ ...crossSite, 'sec-fetch-mode': 'navigate' }), 200, 'the page itself')
  t.strictSame(warnings(), [])
  for (const headers of [crossSite, { 'sec-fetch-site': 'cross-site' }]) {
    t.equal(await login(headers), 200)
    t.match(warnings(), [{ msg: /another site.*localhost and 127\.0\.0\.1/ }])
    t.equal(warnings().length, 1)
  }
})

t.test('a request with an Authorization header is not authenticated by its cookie', async (t) => {
  const { app, take } = await cookieApp(t)
  const tokens = app.jwtService
  const [alice, bob] = ['alice', 'bob'].map((name) => tokens.generateToken(name))
  const cookie = `__Host-token=${alice}`
  const me = (authorization: string) =>
    app.inject({ url: '/me', headers: { ...tls, cookie, authorization } })
  const other = await me(bearer(bob ?? '').authorization)
  t.equal(other.json<{ user: string }>().user, 'bob')
  t.equal(other.headers['cache-control'], undefined, 'RFC 9111 §3.5 protects it already')
  take()
  for (const header of ['Bearer broken', 'Bearer', 'Bearer ', 'Basic YTpi', 'Negotiate x', ' ', ''])
    t.equal((await me(header)).statusCode, 401, JSON.stringify(header))
  t.equal(take(), 0)
})

t.test('a missing, repeated or wrong cookie is a 401 without a user lookup', async (t) => {
  const service = standardOptions().userService
  const { app, take } = await cookieApp(t, { userService: service })
  const good = app.jwtService.generateToken('alice')
  const rows: [cookie: string, error: string][] = [
    ['', messages.none],
    ['other=1', messages.none],
    ['__Host-token=', messages.none],
    [`token=${good}`, messages.none],
    [`__Host-token=${good}; __Host-token=${good}`, messages.none],
    [`__Host-token=; __Host-token=${good}`, messages.none],
    ['__Host-token=broken', messages.jwtInvalid],
    [`__Host-token="${good}"`, messages.jwtInvalid],
    [`__Host-token=${good}x`, messages.jwtInvalid],
    [`__Host-token=Bearer ${good}`, messages.jwtInvalid],
    [`__Host-token=${good.replaceAll('.', '%2E')}`, messages.jwtInvalid],
    [`__Host-token=${good}, __Host-token=${good}`, messages.jwtInvalid],
    [`__Host-token=${'x'.repeat(15_000)}`, messages.jwtInvalid],
  ]
  for (const [cookie, error] of rows) {
    const response = await app.inject({ url: '/me', headers: { ...tls, cookie } })
    t.equal(response.statusCode, 401, cookie.slice(0, 40))
    t.equal(response.body, JSON.stringify({ error }), cookie.slice(0, 40))
    t.equal(response.headers['cache-control'], 'no-store')
    t.equal(response.headers['www-authenticate'], bearerChallenge)
  }
  t.equal(take(), 0)
  t.strictSame(service.asked, [], 'the user service was not asked')
  const header = { ...tls, cookie: [`__Host-token=${good}`, `__Host-token=${good}`] }
  const two = await app.inject({ url: '/me', headers: header as never })
  t.equal(two.statusCode, 401, 'in two headers')
})

t.test('the log says that a cookie came twice, and not what it held', async (t) => {
  const { lines, stream } = logLines()
  const { app } = await cookieApp(t, {}, { logger: { stream } })
  await app.inject({ url: '/me', headers: { cookie: 'token=hush; token=hush' } })
  const text = JSON.stringify(lines)
  t.match(text, /"reason":"two cookies token"/)
  t.notMatch(text, /hush/)
})

t.test('a response to a cookie is private unless the app sets Cache-Control', async (t) => {
  const app = await appWith(t, { ...standardOptions(), cookies: true }, (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      if (request.url === '/early') void reply.header('cache-control', 'public, max-age=60')
      done()
    })
    const config = { auth: true } as const
    app.get('/plain', { config }, () => 'plain')
    app.get('/early', { config }, () => 'early')
    app.get('/late', { config }, (_, reply) =>
      reply.header('cache-control', 'no-cache').send('late'),
    )
    app.get('/fault', { config }, () => Promise.reject(new Error('broken')))
    app.get('/maybe', { config: { auth: 'try' } }, (request) => String(nameOf(request)))
    app.get('/open', () => 'open')
  })
  const token = app.jwtService.generateToken('alice')
  const caches = async (url: string, cookie = `token=${token}`): Promise<unknown> =>
    (await app.inject({ url, headers: { cookie } })).headers['cache-control']
  t.equal(await caches('/plain'), 'private')
  t.equal(await caches('/fault'), 'private')
  t.equal(await caches('/maybe'), 'private')
  t.equal(await caches('/maybe', 'token=broken'), 'private')
  t.equal(await caches('/maybe', 'other=1'), undefined)
  t.equal(await caches('/early'), 'public, max-age=60')
  t.equal(await caches('/late'), 'no-cache')
  t.equal(await caches('/open'), undefined)
})

t.test('a login whose cookie is over 4096 bytes is a 500 that names its size', async (t) => {
  const tokenOf = (length: number) => ({ login: { tokenFunc: () => 'x'.repeat(length) } })
  const attributes = '__Host-token=; Path=/; Secure; HttpOnly; SameSite=Lax'.length
  const fits = await cookieApp(t, tokenOf(4096 - attributes))
  t.equal((await fits.login()).statusCode, 200)
  const { login } = await cookieApp(t, tokenOf(4097 - attributes))
  const response = await login()
  t.equal(response.statusCode, 500)
  t.match(JSON.parse(response.body), {
    code: 'ERR_AUTH_COOKIE',
    message: 'The cookie __Host-token would have 4097 bytes, but browsers keep at most 4096.',
  })
  t.strictSame(linesOf(response), [])
})

t.test('a login keeps the Set-Cookie lines of the app', async (t) => {
  const constant = ['theme=dark', 'lang=de']
  const app = await appWith(t, { ...standardOptions(), cookies: true, sessions: true }, (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      const { how } = request.query as { how?: string }
      if (how === 'array') void reply.header('set-cookie', constant)
      if (how === 'string') void reply.header('set-cookie', 'theme=dark')
      if (how === 'raw') reply.raw.setHeader('set-cookie', constant)
      done()
    })
  })
  for (const [how, others] of [
    ['array', constant],
    ['raw', constant],
    ['string', ['theme=dark']],
    ['none', []],
  ] as const) {
    const url = `/login?how=${how}`
    const given = await app.inject({ method: 'POST', url, payload })
    const names = [...others.map((line) => line.split('=')[0]), 'token', 'refresh']
    t.strictSame(namesIn(given), names, how)
    const authorization = `Bearer ${cookiesOf(given).find(({ name }) => name === 'token')?.value}`
    const headers = { authorization }
    const left = await app.inject({ method: 'POST', url: `/logout?how=${how}`, headers })
    t.strictSame(namesIn(left), names, how)
    t.strictSame(constant, ['theme=dark', 'lang=de'], how)
  }
})

t.test('a tokenFunc whose token cannot stand in a cookie is a 500', async (t) => {
  for (const token of ['a; Domain=evil.example', 'a\r\nb: c', 'a b', 'a,b', '"a"', 'é']) {
    const { login } = await cookieApp(t, { login: { tokenFunc: () => token } })
    const response = await login()
    t.equal(response.statusCode, 500, encodeURIComponent(token))
    t.match(JSON.parse(response.body), { code: 'ERR_AUTH_TOKEN_FUNC' })
    t.strictSame(linesOf(response), [])
  }
})

t.test('a cookie lives as long as its token, or as the browser session', async (t) => {
  const { login } = await cookieApp(t, { jwt: { secret, expiry: 60 } })
  const response = await login()
  t.equal(response.body, '{"expiresIn":60}')
  t.equal(cookiesOf(response)[0]?.attributes['max-age'], '60')
  const opaque = await cookieApp(t, { login: { tokenFunc: () => 'opaque' } })
  const session = await opaque.login()
  t.equal(session.body, '{"expiresIn":null}')
  t.strictSame(linesOf(session), ['__Host-token=opaque; Path=/; Secure; HttpOnly; SameSite=Lax'])

  const now = Math.floor(Date.now() / 1000)
  const tokenOf = (claims: unknown): string =>
    `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`
  t.ok([599, 600].includes(lifeOf(tokenOf({ exp: now + 600 })) ?? 0))
  t.equal(lifeOf(tokenOf({ exp: now - 10 })), 0)
  for (const claims of [{}, null, [], 'x', { exp: 'x' }, { exp: null }])
    t.equal(lifeOf(tokenOf(claims)), null, JSON.stringify(claims))
  for (const token of ['', 'x', 'a.b.c', 'a.!.c']) t.equal(lifeOf(token), null, token)
})
