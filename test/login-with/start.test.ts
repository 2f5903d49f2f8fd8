import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import type { LoginProviderOptions } from '../../lib/index.js'
import { logLines } from '../helpers/app.js'
import { cookiesOf, linesOf, tls } from '../helpers/cookies.js'
import { setNodeEnv } from '../helpers/environment.js'
import { clientSecret, jarOf, loginApp } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'

type Params = LoginProviderOptions['authorizationParams']

t.test('a start leads the browser to the provider, with each parameter once', async (t) => {
  const provider = await startProvider(t)
  const { begin } = await loginApp(t, provider)
  const [one, two] = [await begin('?returnTo=/notes'), await begin()]
  const { sent, response } = one
  t.match(response.headers, { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  t.ok(String(response.headers.location).startsWith(`${provider.url}/authorize?tenant=one&`))
  const { state = '', nonce = '', code_challenge = '', ...fixed } = Object.fromEntries(sent)
  t.strictSame(fixed, {
    tenant: 'one',
    response_type: 'code',
    client_id: 'shop',
    redirect_uri: 'https://shop.example/login/corp/callback',
    scope: 'openid profile email',
    code_challenge_method: 'S256',
  })
  t.equal(new Set(sent.keys()).size, sent.size)
  for (const each of [state, nonce, code_challenge]) t.match(each, /^[\w-]{43}$/)
  for (const name of ['state', 'nonce', 'code_challenge']) t.not(sent.get(name), two.sent.get(name))
  const [cookie, ...others] = cookiesOf(response)
  t.strictSame(others, [])
  t.strictSame(cookie?.attributes, {
    'max-age': '1800',
    path: '/',
    secure: true,
    httponly: true,
    samesite: 'Lax',
  })
  t.equal(cookie?.name, `__Host-login-${state.slice(0, 16)}`)
  const attempt = `corp\n${provider.url}\n${cookie?.value}`
  t.equal(state, createHash('sha256').update(attempt).digest('base64url'))
})

t.test('the cookie of an attempt is named like the others', async (t) => {
  const provider = await startProvider(t)
  const start = async (
    cookies: { name?: string; sameSite?: 'strict' },
    headers: Record<string, string>,
  ) => {
    const { app } = await loginApp(t, provider, {}, { cookies })
    return linesOf(await app.inject({ url: '/login/corp', headers })).join()
  }
  const local = { host: 'localhost:3000' }
  t.match(
    await start({}, local),
    /^login-[\w-]{16}=[^;]+; Max-Age=1800; Path=\/; HttpOnly; SameSite=Lax$/,
  )
  t.match(await start({ name: 'admin' }, local), /^admin-login-/)
  t.match(
    await start({ sameSite: 'strict' }, local),
    /SameSite=Lax$/,
    'another site leads to the callback',
  )
  t.match(
    await start({ name: 'admin' }, { host: 'shop.example' }),
    /^__Host-admin-login-.*; Secure;/,
  )
  t.match(await start({}, { ...local, 'x-forwarded-for': '192.0.2.1' }), /^__Host-login-/)
  setNodeEnv(t, 'development')
  t.match(await start({}, local), /^login-/)
})

t.test('a start clears the cookies of abandoned attempts from the fifth on', async (t) => {
  const { get } = await loginApp(t, await startProvider(t))
  const names = 'a b c d e'.split(' ').map((letter) => `__Host-login-${letter.repeat(16)}`)
  const others = 'login-aaaaaaaaaaaaaaaa=1; __Host-login-short=1; __Host-token=a'
  for (const count of [4, 5]) {
    const cookie = names
      .slice(0, count)
      .map((name) => `${name}=1`)
      .join('; ')
    const set = cookiesOf(await get('/login/corp', `${others}; ${cookie}; ${cookie}`))
    const cleared = set.filter(({ attributes }) => attributes['max-age'] === '0')
    t.strictSame(
      cleared.map(({ name }) => name),
      count === 5 ? names : [],
    )
    t.equal(set.length, cleared.length + 1)
  }
})

t.test('authorizationParams are added as they are, or the start is a 500', async (t) => {
  const provider = await startProvider(t)
  const good: [given: unknown, added: object][] = [
    [
      { prompt: 'login', hd: 'a&b=c' },
      { prompt: 'login', hd: 'a&b=c' },
    ],
    [() => ({ login_hint: 'é', max_age: '0' }), { login_hint: 'é', max_age: '0' }],
    [({ url }: { url: string }) => ({ login_hint: url }), { login_hint: '/login/corp' }],
    [() => ({}), {}],
  ]
  for (const [given, added] of good) {
    const { begin } = await loginApp(t, provider, { authorizationParams: given as Params })
    t.match(Object.fromEntries((await begin()).sent), { client_id: 'shop', ...added })
  }
  const thrown = (): never => {
    throw new Error('a secret')
  }
  const bad: unknown[] = [
    thrown,
    async () => ({}),
    async () => thrown(),
    () => undefined,
    () => null,
    () => 'a=b',
    () => [],
    ...[{ a: 1 }, { a: undefined }, { a: ['b'] }, { max_age: 'a' }, { max_age: '-1' }].map(
      (each) => () => each,
    ),
    ...reserved.map((name) => () => ({ [name]: 'a' })),
  ]
  for (const given of bad) {
    const { get, last } = await loginApp(t, provider, {
      authorizationParams: given as Params,
      failureTo: '/sorry',
    })
    const response = await get('/login/corp')
    t.equal(response.statusCode, 500, String(given))
    t.notMatch(response.body, /secret/)
    t.strictSame(linesOf(response), [])
    t.equal(last().code, 'ERR_AUTH_AUTHORIZATION_PARAMS', String(given))
  }
})
const reserved =
  'response_type response_mode client_id redirect_uri scope state nonce code_challenge code_challenge_method request request_uri'.split(
    ' ',
  )

t.test('returnTo is a path of this app, or a 400', async (t) => {
  const { begin, finish, get } = await loginApp(t, await startProvider(t))
  const long = `/${'a'.repeat(999)}`
  const good = [
    '/',
    '/notes',
    '/a/../b',
    '/a?b=//c&d=https://e.example',
    '/a//b',
    '/a#b',
    '/%2F%2Fevil.example',
    '/%5cevil',
    long,
  ]
  for (const path of good) {
    const response = await finish(await begin(`?returnTo=${encodeURIComponent(path)}`))
    t.equal(response.headers.location, path, 'as it came')
  }
  for (const [path, location] of [
    ['/é ü', '/%C3%A9%20%C3%BC'],
    ['/a b"<>', '/a%20b"<>'],
  ]) {
    const response = await finish(await begin(`?returnTo=${encodeURIComponent(path as string)}`))
    t.equal(response.headers.location, location)
  }
  const bad = [
    '',
    'notes',
    '?a',
    '#a',
    '//',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/a\\b',
    '/\t/evil.example',
    '/\n/evil.example',
    '/\r\nSet-Cookie: a=b',
    '/a\0',
    '/a\u007f',
    '/\u0085/evil.example',
    '\t/a',
    ' /a',
    '/..//evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e%2e//evil.example',
    '/.%2e//evil.example',
    'https://evil.example',
    'https:evil.example',
    'javascript:alert(1)',
    'https://shop.example/',
    '@evil.example',
    `${long}a`,
    `/${'é'.repeat(999)}💩`,
  ]
  const queries = bad.map((path) => `returnTo=${encodeURIComponent(path)}`)
  for (const query of [
    ...queries,
    'returnTo',
    'returnTo=/a&returnTo=/a',
    'returnTo=/a&returnTo=//b',
    'returnTo=%ff%fe//',
  ]) {
    const response = await get(`/login/corp?${query}`)
    t.equal(response.statusCode, 400, query)
    t.strictSame(linesOf(response), [], query)
    t.match(response.headers, {
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      location: undefined,
    })
  }
  t.equal((await get('/login/corp?returnTo[]=//evil&other=//evil')).statusCode, 303, 'is not read')
})

t.test('redirect_uri is the address of the callback, or the option', async (t) => {
  const provider = await startProvider(t)
  const { app } = await loginApp(t, provider, {}, { login: { path: '/api/login/' } })
  const at = async (host: string) => {
    const response = await app.inject({ url: '/api/login/corp', headers: { host } })
    const { location } = response.headers
    return location === undefined
      ? response.statusCode
      : new URL(location).searchParams.get('redirect_uri')
  }
  t.equal(await at('shop.example:8080'), 'http://shop.example:8080/api/login/corp/callback')
  for (const host of ['a b', 'a^b', 'shop.example:a']) t.equal(await at(host), 400, host)
  for (const redirectUri of [
    'https://SHOP.example:443/a/../cb?tenant=1',
    'http://localhost:3000/cb',
  ]) {
    const { begin, finish } = await loginApp(t, provider, { redirectUri })
    const begun = await begin()
    t.equal(begun.sent.get('redirect_uri'), redirectUri, 'as it is registered')
    const callback = new URL(`https://shop.example/login/corp/callback${begun.callback.search}`)
    callback.searchParams.delete('tenant')
    t.equal((await finish({ ...begun, callback })).statusCode, 303)
  }
})

t.test('an app of two hosts sends the redirect_uri of each', async (t) => {
  const provider = await startProvider(t)
  const { app } = await loginApp(t, provider)
  for (const host of ['shop.example', 'shop.test', 'shop.example']) {
    const headers = { ...tls, host }
    const begun = await app.inject({ url: '/login/corp', headers })
    const { pathname, search } = provider.visit(new URL(String(begun.headers.location)))
    const cookie = jarOf(begun)
    const response = await app.inject({ url: pathname + search, headers: { ...headers, cookie } })
    t.equal(response.statusCode, 303)
    const asked = provider.asked.splice(0).find(({ path }) => path === '/token')
    t.equal(asked?.body.get('redirect_uri'), `https://${host}/login/corp/callback`)
  }
})

t.test('a start over http is logged once, and one on this machine is not', async (t) => {
  const { app, lines } = await loginApp(t, await startProvider(t))
  const warnings: number[] = []
  for (const host of ['localhost', 'shop.example', 'shop.example']) {
    await app.inject({ url: '/login/corp', headers: { host } })
    warnings.push(lines.filter(({ msg }) => /over http/.test(String(msg))).length)
  }
  t.strictSame(warnings, [0, 1, 1])
})

t.test('neither route has a HEAD route, and other methods are a 404', async (t) => {
  const { app, get } = await loginApp(t, await startProvider(t))
  for (const url of ['/login/corp', '/login/corp/callback']) {
    t.equal((await app.inject({ method: 'HEAD', url })).statusCode, 404)
    t.equal((await app.inject({ method: 'POST', url })).statusCode, 404)
  }
  for (const url of ['/login/other', '/login/Corp', '/login/corp/', '/login/corp%00']) {
    t.equal((await get(url)).statusCode, 404, url)
  }
})

t.test('no line of the log has a query, a cookie or a secret', async (t) => {
  const provider = await startProvider(t)
  const own = ({ url, query, originalUrl, id, raw }: FastifyRequest) => ({
    id,
    url,
    query,
    originalUrl,
    own: `${raw.method} ${raw.url}`,
  })
  for (const serializers of [undefined, { req: own }]) {
    const { lines, stream } = logLines()
    const logger = { stream, level: 'trace', ...(serializers && { serializers }) }
    const { begin, finish, get } = await loginApp(t, provider, {}, {}, { logger })
    const begun = await begin('?returnTo=/a-page')
    await finish(begun)
    await finish(begun)
    await finish(begun, (all) => all.set('iss', 'https://evil.example'))
    await get('/login/corp?returnTo=//evil.example', begun.cookie)
    const logged = JSON.stringify(lines)
    const secrets = [
      ...['state', 'nonce', 'code_challenge'].map((name) => begun.sent.get(name)),
      begun.callback.searchParams.get('code'),
    ]
    for (const secret of [
      ...secrets,
      ...begun.cookie.split('='),
      clientSecret,
      'a-page',
      'an access token',
      'evil',
      'eyJ',
    ]) {
      t.notOk(logged.includes(String(secret)), String(secret))
    }
    const requests = lines.flatMap(({ req }) => (req ? [req as { url: string; own?: string }] : []))
    t.strictSame(
      [...new Set(requests.map(({ url }) => url))],
      ['/login/corp', '/login/corp/callback'],
    )
    t.ok(requests.every(({ url, own }) => own === (serializers && `GET ${url}`)))
  }
})
