import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import type { LoginProviderOptions } from '../../lib/index.js'
import { logLines } from '../helpers/app.js'
import { cookiesOf, linesOf, tls } from '../helpers/cookies.js'
import type { AnyResponse } from '../helpers/flows.js'
import { setNodeEnv } from '../helpers/environment.js'
import { clientSecret, jarOf, loginApp, reserved, type LoginApp } from '../helpers/login-app.js'
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

t.test('the cookie of an attempt has the prefix and the name of other cookies', async (t) => {
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

/** A browser that keeps cookies, with those it has. */
function browserOf({ get }: LoginApp, jar = new Map<string, string>()) {
  const visit = async (url: string): Promise<AnyResponse> => {
    const response = await get(url, [...jar].map((pair) => pair.join('=')).join('; '))
    for (const { name, value } of cookiesOf(response)) {
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }
  const attempts = (): string[] =>
    [...jar].map((pair) => pair.join('=')).filter((pair) => /login-[\w-]{16}=/.test(pair))
  return { jar, visit, attempts }
}

t.test('of more than five attempts the oldest are given up, and no other', async (t) => {
  const provider = await startProvider(t)
  const login = await loginApp(t, provider)
  const begun = async (browser: ReturnType<typeof browserOf>): Promise<string> => {
    const { headers } = await browser.visit('/login/corp')
    const { pathname, search } = provider.visit(new URL(String(headers.location)))
    return pathname + search
  }
  for (const tabs of [2, 5, 6, 8]) {
    const browser = browserOf(login, new Map([['__Host-login-short', '1']]))
    const callbacks: string[] = []
    for (let tab = 0; tab < tabs; tab += 1) callbacks.push(await begun(browser))
    t.equal(browser.attempts().length, Math.min(tabs, 5))
    for (const [tab, address] of callbacks.entries()) {
      const { statusCode } = await browser.visit(address)
      t.equal(statusCode, tab < tabs - 5 ? 401 : 303, `${tab} of ${tabs}`)
    }
    t.equal(browser.jar.get('__Host-login-short'), '1', 'a cookie of the app')
  }
})

t.test('the oldest attempts are given up, in whatever order their cookies come', async (t) => {
  const { get } = await loginApp(t, await startProvider(t))
  const now = Math.floor(Date.now() / 1000)
  const pairs = [900, 100, 300, 200, 400].map((end) => {
    const [name, value] = [String(end).padEnd(16, 'a'), 'a'.repeat(43)]
    return `__Host-login-${name}=${value}.${now + end}..`
  })
  const cleared = async (cookie: string): Promise<(string | undefined)[]> => {
    const set = cookiesOf(await get('/login/corp', cookie))
    return set.filter(({ value }) => value === '').map(({ name }) => name)
  }
  const others = 'login-aaaaaaaaaaaaaaaa=1; __Host-token=a'
  t.strictSame(await cleared(`${pairs.slice(1).join('; ')}; ${others}`), [])
  const oldest = [`__Host-login-${'100'.padEnd(16, 'a')}`]
  t.strictSame(await cleared(`${pairs.join('; ')}; ${others}`), oldest)
  const twice = `${pairs.join('; ')}; ${pairs[0]}`
  t.strictSame(await cleared(twice), [pairs[0]?.split('=')[0]], 'a cookie that was sent twice')
})

t.test('the cookies of all attempts stay below 4 KB, and the newest is kept', async (t) => {
  const provider = await startProvider(t)
  const paths = ['/notes', `/${'a'.repeat(511)}`, `/${'一'.repeat(170)}`, `/${'é'.repeat(255)}`]
  const max = { max_age: '9'.repeat(10) }
  for (const name of [undefined, 'a', 'a'.repeat(64)]) {
    const cookies = name === undefined ? true : { name }
    const apps = [
      await loginApp(t, provider, { authorizationParams: max }, { cookies }),
      // Another registration of the same host.
      await loginApp(t, provider, {}, { cookies: { name: 'other' } }),
    ]
    const browsers = apps.map((app) => browserOf(app, jar))
    for (let count = 0; count < 12; count += 1) {
      const query = new URLSearchParams({ returnTo: paths[count % paths.length] as string })
      const browser = browsers[count % 2] as (typeof browsers)[0]
      const response = await browser.visit(`/login/corp?${query.toString()}`)
      t.equal(response.statusCode, 303)
      t.ok(jar.has(String(cookiesOf(response).at(-1)?.name)), 'the newest')
      const bytes = browser.attempts().join('; ').length
      t.ok(bytes < 4096, `${bytes} bytes`)
      t.ok(browser.attempts().length >= Math.min(count + 1, 4))
    }
    jar.clear()
  }
})
const jar = new Map<string, string>()

t.test('a link that a browser prefetches begins no login', async (t) => {
  const provider = await startProvider(t)
  const { app, begin, finish } = await loginApp(t, provider, { failureTo: '/sorry' })
  const begun = await begin()
  for (const [name, value] of [
    ['sec-purpose', 'prefetch'],
    ['sec-purpose', 'prefetch;prerender'],
    ['sec-purpose', 'prefetch;anonymous-client-ip'],
    ['purpose', 'prefetch'],
    ['Purpose', 'Prefetch'],
    ['x-moz', 'prefetch'],
    ['x-purpose', 'preview'],
  ] as const) {
    const url = '/login/corp?returnTo=/notes'
    const headers = { ...tls, cookie: begun.cookie, origin: 'https://shop.example', [name]: value }
    const response = await app.inject({ url, headers })
    t.match(response, {
      statusCode: 503,
      headers: { 'cache-control': 'no-store', vary: /sec-purpose, purpose/, location: undefined },
    })
    t.strictSame([linesOf(response), response.body], [[], ''], `${name}: ${value}`)
  }
  const headers = {
    ...tls,
    'sec-purpose': '',
    purpose: 'x-prefetch',
    'x-purpose': 'a'.repeat(9999),
  }
  const clicked = await app.inject({ url: '/login/corp', headers })
  t.match(clicked, { statusCode: 303, headers: { vary: /sec-purpose, purpose/ } })
  t.equal((await finish(begun)).statusCode, 303, 'the login that was under way')
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
    ...[
      { a: 1 },
      { a: undefined },
      { a: ['b'] },
      { max_age: 'a' },
      { max_age: '-1' },
      { max_age: '1'.repeat(11) },
    ].map((each) => () => each),
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

t.test('returnTo is a path of this app, or a 400', async (t) => {
  const { begin, finish, get } = await loginApp(t, await startProvider(t))
  const long = `/${'a'.repeat(511)}`
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
    `/${'é'.repeat(256)}`,
    `/${'💩'.repeat(128)}`,
    `/${'a'.repeat(5000)}`,
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
