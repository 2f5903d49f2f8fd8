import t from 'tap'
import type { LoginProviderOptions } from '../../lib/index.js'
import { cookiesOf, linesOf } from '../helpers/cookies.js'
import { bearerChallenge, isRejection } from '../helpers/flows.js'
import { clientSecret, isAttempt, jarOf, loginApp } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { eventsOf } from '../helpers/sessions.js'

t.test('a user of the provider logs in and opens a protected route', async (t) => {
  const provider = await startProvider(t)
  const { begin, finish, get } = await loginApp(t, provider)
  const logins = eventsOf(t, 'login')
  const begun = await begin('?returnTo=/notes?a=1%2526b')
  const response = await finish(begun)
  t.equal(response.statusCode, 303)
  t.equal(response.headers.location, '/notes?a=1%26b', 'as it came')
  t.equal(response.headers['cache-control'], 'no-store')
  t.equal(response.headers['referrer-policy'], 'no-referrer')
  const names = cookiesOf(response).map(({ name, attributes }) => [name, attributes['max-age']])
  const [attempt = ''] = begun.cookie.split('=')
  t.strictSame(names, [
    [attempt, '0'],
    ['__Host-token', '300'],
    ['__Host-refresh', '1209600'],
  ])
  t.match(await get('/me', jarOf(response)), { statusCode: 200, body: /alice/ })
  t.match(logins, [{ authenticator: 'login', provider: 'corp', user: { name: 'alice' } }])

  const asked = provider.asked.find(({ path }) => path === '/token')
  t.match(Object.fromEntries(asked?.body ?? []), {
    grant_type: 'authorization_code',
    redirect_uri: begun.sent.get('redirect_uri'),
    code_verifier: /^[\w-]{43}$/,
  })
  const [, credentials] = asked?.headers.authorization?.split(' ') ?? []
  const pair = Buffer.from(String(credentials), 'base64').toString().split(':')
  // RFC 6749 §2.3.1
  const decoded = pair.map((each) => [...new URLSearchParams(`_=${each}`).values()].join())
  t.strictSame(decoded, ['shop', clientSecret])
})

t.test('two tabs log in, in any order, and neither can be used again', async (t) => {
  const { begin, finish, last } = await loginApp(t, await startProvider(t))
  const [one, two] = [await begin('?returnTo=/one'), await begin('?returnTo=/two')]
  const cookie = `${one.cookie}; ${two.cookie}`
  t.equal((await finish({ ...two, cookie })).headers.location, '/two')
  t.equal((await finish({ ...one, cookie })).headers.location, '/one')
  t.equal((await finish({ ...one, cookie })).statusCode, 401, 'the provider takes a code once')
  t.match(last(), { code: 'ERR_AUTH_LOGIN_INVALID', reason: /rejected the code/ })
})

t.test('with strict cookies the callback sends a page that opens the address', async (t) => {
  const cookies = { sameSite: 'strict' } as const
  const { logIn } = await loginApp(t, await startProvider(t), {}, { cookies })
  const { statusCode, headers, body } = await logIn(
    `?returnTo=${encodeURIComponent('/a?b="\'<&>')}`,
  )
  t.equal(statusCode, 200)
  t.equal(headers.location, undefined)
  t.match(headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  })
  const [, address = ''] =
    /^<!doctype html><meta http-equiv="refresh" content="0;url=([^"<>]*)">$/.exec(body) ?? []
  t.equal(
    address.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
    '/a?b="\'<&>',
  )
})

t.test('a login ends at the option returnTo, or at a path of its origin', async (t) => {
  const provider = await startProvider(t)
  const rows: [option: string | undefined, query: string, location: string][] = [
    [undefined, '', '/'],
    ['/home?a=é', '', '/home?a=%C3%A9'],
    ['/home', '?returnTo=/notes', '/notes'],
    ['https://shop.example/app?a#b', '', 'https://shop.example/app?a#b'],
    ['https://shop.example/app', '?returnTo=/notes', 'https://shop.example/notes'],
  ]
  for (const [returnTo, query, location] of rows) {
    const cookies = { trustedOrigins: ['https://shop.example'] }
    const { logIn } = await loginApp(t, provider, { returnTo }, { cookies })
    t.equal((await logIn(query)).headers.location, location)
  }
})

t.test(
  'a callback without an attempt of this browser is rejected before anything is sent',
  async (t) => {
    const provider = await startProvider(t)
    const { app, begin, finish, get, last } = await loginApp(t, provider)
    const other = await begin()
    provider.take()
    const rows: [
      what: string,
      cookie: (of: string) => string,
      change?: (all: URLSearchParams) => unknown,
    ][] = [
      ['no cookie', () => ''],
      ['an empty cookie', (cookie) => cookie.replace(/=.*/, '=')],
      ['the cookie twice', (cookie) => `${cookie}; ${cookie}`],
      ['two cookies of that name', (cookie) => `${cookie}; ${cookie.replace(/=.*/, '=a')}`],
      ['the cookie of another attempt', () => other.cookie],
      [
        'its value from another attempt',
        (cookie) => cookie.replace(/=.*/, other.cookie.replace(/.*=/, '=')),
      ],
      ['its bits changed', (cookie) => cookie.replace(/=./, '=~')],
      ['its end changed', (cookie) => cookie.replace(/\.\d+\./, '.9999999999.')],
      ['its returnTo changed', (cookie) => cookie.replace(/\.[^.]*$/, '.L2V2aWw')],
      ['without __Host-', (cookie) => cookie.replace('__Host-', '')],
      ['no state', (cookie) => cookie, (all) => all.delete('state')],
      ['an empty state', (cookie) => cookie, (all) => all.set('state', '')],
      [
        'another state',
        (cookie) => cookie,
        (all) => all.set('state', String(other.sent.get('state'))),
      ],
      [
        'the start of the state',
        (cookie) => cookie,
        (all) => all.set('state', String(all.get('state')).slice(0, 16)),
      ],
      [
        'the state twice',
        (cookie) => cookie,
        (all) => all.append('state', String(all.get('state'))),
      ],
    ]
    for (const [what, cookieOf, change] of rows) {
      const begun = await begin()
      const response = await finish({ ...begun, cookie: cookieOf(begun.cookie) }, change)
      t.equal(response.statusCode, 401, what)
      t.match(JSON.parse(response.body), { error: /expired/ }, what)
      t.strictSame(linesOf(response), [], what)
      t.match(last(), { code: 'ERR_AUTH_LOGIN_STATE', provider: 'corp', reason: /./ }, what)
      t.equal((await finish(begun)).statusCode, 303, `${what}: the attempt itself goes on`)
      provider.take()
    }
    t.match(await app.inject({ method: 'HEAD', url: '/login/corp/callback' }), { statusCode: 404 })
    t.match(await get('/login/other/callback'), { statusCode: 404 })
  },
)

t.test('an attempt expires after half an hour, and is for one provider only', async (t) => {
  const provider = await startProvider(t)
  const base = { issuer: provider.url, clientId: 'shop', username: () => 'alice' }
  const loginWith = { corp: base, toString: base }
  const { begin, finish, last } = await loginApp(t, provider, {}, { loginWith })
  const begun = await begin()
  const callback = new URL(begun.callback.href.replace('/corp/', '/toString/'))
  t.equal((await finish({ ...begun, callback })).statusCode, 401)
  t.match(last(), { code: 'ERR_AUTH_LOGIN_STATE', provider: 'toString' })
  const now = Date.now()
  let ahead = 1801
  t.intercept(Date, 'now', { value: () => now + ahead * 1000 })
  t.equal((await finish(begun)).statusCode, 401)
  t.match(last(), { code: 'ERR_AUTH_LOGIN_STATE', reason: /expired/ })
  ahead = 1780
  t.equal((await finish(begun)).statusCode, 303)
})

t.test('a callback with bad parameters is rejected, and nothing is sent', async (t) => {
  const provider = await startProvider(t)
  const { begin, finish, get, last } = await loginApp(t, provider)
  const session = jarOf(await finish(await begin()))
  const invalid = 'ERR_AUTH_LOGIN_INVALID'
  const denied = 'ERR_AUTH_LOGIN_DENIED'
  const rows: [
    what: string,
    change: (all: URLSearchParams) => unknown,
    code: string,
    reason: RegExp,
  ][] = [
    ['no code', (all) => all.delete('code'), invalid, /code/],
    ['an empty code', (all) => all.set('code', ''), invalid, /code/],
    ['the code twice', (all) => all.append('code', 'a'), invalid, /repeat/],
    [
      'an unknown parameter twice',
      (all) => (all.append('a', ''), all.append('a', '')),
      invalid,
      /repeat/,
    ],
    ['iss of another provider', (all) => all.set('iss', 'https://evil.example'), invalid, /iss/],
    ['iss with a slash', (all) => all.set('iss', `${provider.url}/`), invalid, /iss/],
    ['an empty iss', (all) => all.set('iss', ''), invalid, /iss/],
    [
      'another iss beside an error',
      (all) => (all.set('iss', 'a'), all.set('error', 'access_denied')),
      invalid,
      /iss/,
    ],
    ['response', (all) => all.set('response', 'a'), invalid, /flow/],
    ['id_token', (all) => all.set('id_token', 'a'), invalid, /flow/],
    [
      'an error',
      (all) => (all.delete('code'), all.set('error', 'access_denied')),
      denied,
      /access_denied/,
    ],
    ['an error beside a code', (all) => all.set('error', 'server_error'), denied, /server_error/],
    ['an empty error', (all) => all.set('error', ''), denied, /unknown/],
    [
      'an unknown error',
      (all) => (all.set('error', 'x<y'), all.set('error_description', 'x<y')),
      denied,
      /^[^<]*unknown[^<]*$/,
    ],
  ]
  for (const [what, change, code, reason] of rows) {
    const begun = await begin()
    provider.take()
    const response = await finish({ ...begun, cookie: `${begun.cookie}; ${session}` }, change)
    const error = 'The login was not successful.'
    isRejection(t, response, { error, challenge: bearerChallenge }, what)
    t.equal(response.headers['referrer-policy'], 'no-referrer', what)
    const [attempt = '', ...others] = linesOf(response)
    t.ok(isAttempt(attempt) && attempt.includes('Max-Age=0') && others.length === 0, what)
    t.match(last(), { code, reason, provider: 'corp' }, what)
    t.strictSame(provider.take(), [], `${what}: nothing is sent`)
  }
  t.equal((await get('/me', session)).statusCode, 200, 'a failed login ends no session')
})

t.test('iss is needed where the metadata promise it', async (t) => {
  const provider = await startProvider(t)
  provider.metadata = { authorization_response_iss_parameter_supported: true }
  const { begin, finish, logIn, last } = await loginApp(t, provider)
  t.equal((await logIn()).statusCode, 401)
  t.match(last(), { code: 'ERR_AUTH_LOGIN_INVALID', reason: /iss/ })
  const response = await finish(await begin(), (all) => all.set('iss', provider.url))
  t.equal(response.statusCode, 303)
})

t.test('with failureTo, rejections lead there with a code, and faults do not', async (t) => {
  const provider = await startProvider(t)
  let name: unknown = null
  const username = (() => name) as LoginProviderOptions['username']
  const more = { username, failureTo: '/sorry?a=1' }
  const { begin, finish, get, logIn } = await loginApp(t, provider, more)
  const to = (code: string): string => `/sorry?a=1&error=ERR_AUTH_${code}&provider=corp`
  t.match(await get('/login/corp/callback'), {
    statusCode: 303,
    headers: { location: to('LOGIN_STATE') },
  })
  const denied = await finish(await begin(), (all) => all.set('error', 'access_denied'))
  t.match(denied, { statusCode: 303, headers: { location: to('LOGIN_DENIED') } })
  t.ok(linesOf(denied).some(isAttempt), 'the attempt is cleared')
  t.match(await logIn(), { statusCode: 303, headers: { location: to('LOGIN_REFUSED') } })
  name = {}
  t.match(await logIn(), { statusCode: 500, headers: { location: undefined } })
  t.match(await get('/login/corp?returnTo=//a'), { statusCode: 400 })
})
