// `loginWith.<name>.link`: a user who is logged in links an account at a provider.
import formbody from '@fastify/formbody'
import t from 'tap'
import { AuthenticationError, type LoginProviderOptions } from '../../lib/index.js'
import { clockOf } from '../helpers/clock.js'
import { bearer, passwords, secret, userService, users, type TestApp } from '../helpers/app.js'
import { cookiesOf, linesOf, tls } from '../helpers/cookies.js'
import { isRejection, serviceOf } from '../helpers/flows.js'
import { startIssuer } from '../helpers/issuer.js'
import { challenge } from '../helpers/level.js'
import { keepsCookies, linkApp, tokenOf } from '../helpers/link-app.js'
import { jarOf } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { breakable, claimsOf, eventsOf, heldStore } from '../helpers/sessions.js'
import { keys, privatePem } from '../helpers/tokens.js'

const never = new Promise<never>(() => undefined)
type Link = NonNullable<LoginProviderOptions['link']>

t.test('a user who is logged in links an account, and stays logged in', async (t) => {
  const provider = await startProvider(t)
  const [logins, links, failures] = [
    eventsOf(t, 'login'),
    eventsOf(t, 'link'),
    eventsOf(t, 'failure'),
  ]
  const seen: unknown[][] = []
  const username = (): never => {
    throw new Error('not asked')
  }
  const link: Link = (...args) => seen.push(args)
  const { enter, beginLink, begin, get } = await linkApp(t, provider, { link, username })
  const session = await enter()
  logins.length = 0
  provider.idToken = { claims: { sub: 'a-7' } }
  const begun = await beginLink(session, { returnTo: '/settings?a=1%26b' })
  t.match(begun.response.headers, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  })
  t.strictSame(Object.keys(JSON.parse(begun.response.body) as object), ['location'])
  const fixed = (sent: URLSearchParams): string[] =>
    [...sent].map(([name, value]) => (/^(?:state|nonce|code_challenge)$/.test(name) ? name : value))
  t.strictSame(fixed(begun.sent), fixed((await begin()).sent), 'as for a login')
  const [cookie, ...others] = cookiesOf(begun.response)
  t.strictSame(others, [])
  t.match(cookie, {
    name: `__Host-login-${String(begun.sent.get('state')).slice(0, 16)}`,
    value: /^[\w-]{43}\.\d{10}\.\.[\w-]+\.[\w-]+\.[\w-]+\.[\w-]+$/,
    attributes: { 'max-age': '1800', path: '/', secure: true, httponly: true, samesite: 'Lax' },
  })
  const response = await get(begun.callback.pathname + begun.callback.search, begun.cookie)
  t.match(response, {
    statusCode: 303,
    headers: {
      location: '/settings?a=1%26b',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    },
  })
  t.strictSame(
    linesOf(response).map((line) => line.split('=')[0]),
    [cookie?.name],
  )
  t.ok(keepsCookies(response), 'the cookies of the session stay')
  t.match(seen, [
    [
      { iss: provider.url, sub: 'a-7' },
      { id: 1, name: 'alice', password: /^\$2b\$/ },
      { url: /^\/login\/corp\/callback/ },
      { accessToken: 'an access token', idToken: /^ey/ },
    ],
  ])
  t.throws(() => Object.assign(seen[0]?.[0] as object, { sub: 'bob' }), 'the claims are frozen')
  t.match(links, [{ provider: 'corp', sub: 'alice', request: seen[0]?.[2] }])
  t.strictSame([logins, failures], [[], []])
  t.equal((await get('/me', session)).statusCode, 200)
})

t.test('an account is linked to one user, who may link it again and log in with it', async (t) => {
  const provider = await startProvider(t)
  const owners: Record<string, string> = {}
  const { enter, link, logIn, get, last } = await linkApp(t, provider, {
    link: ({ sub }, user) => (owners[sub] ??= (user as { name: string }).name) === nameOf(user),
    username: ({ sub }) => owners[sub],
  })
  const nameOf = (user: object): string => (user as { name: string }).name
  provider.idToken = { claims: { sub: 'a-7' } }
  t.equal((await logIn()).statusCode, 403, 'no user has it yet')
  const [alice, bob] = [await enter('alice'), await enter('bob')]
  for (const times of [1, 2]) t.equal((await link(alice)).statusCode, 303, `${times}`)
  const taken = await link(bob)
  const error = 'This account of the provider belongs to another user.'
  isRejection(t, taken, { status: 409, error, challenge: null })
  t.ok(keepsCookies(taken))
  t.match(last(), { code: 'ERR_AUTH_LINK_TAKEN', provider: 'corp' })
  t.equal((await get('/me', bob)).statusCode, 200, 'still logged in')
  t.match(await get('/me', jarOf(await logIn())), { body: /alice/ })
})

t.test('a token of an issuer, and a GET, begin no link', async (t) => {
  const provider = await startProvider(t)
  const issuer = await startIssuer(t)
  const failures = eventsOf(t, 'failure')
  const theirs = { ...issuer.options(), user: () => ({ name: 'alice' }) }
  const { app, enter, post, get } = await linkApp(t, provider, {}, { issuers: { theirs } })
  const headers = bearer(issuer.token())
  t.equal((await post('/login/corp/link', '', {}, headers)).statusCode, 401)
  const bare = bearer(app.jwtService.generateToken('alice'))
  t.equal((await post('/login/corp/link', '', {}, bare)).statusCode, 403)
  t.match(failures.at(-1), { code: 'ERR_AUTH_FORBIDDEN', authenticator: 'login', provider: 'corp' })
  const session = await enter()
  t.equal((await get('/login/corp/link', session)).statusCode, 404, 'no link in a page can do it')
})

t.test(
  'a link begins within ten minutes of a login, at the provider where it says so',
  async (t) => {
    const provider = await startProvider(t)
    const jwt = { secret, expiry: 3600 }
    const { enter, begin, finish, post } = await linkApp(t, provider, {}, { jwt })
    const session = await enter()
    const now = Date.now()
    const clock = clockOf(t)
    const error = 'Please confirm that it is you.'
    const again = { status: 401, error, challenge: challenge('max_age="600"') }
    clock.advance(598)
    t.equal((await post('/login/corp/link', session)).statusCode, 200)
    clock.advance(4)
    const late = await post('/login/corp/link', session)
    isRejection(t, late, again)
    t.strictSame(linesOf(late), [])
    provider.idToken = { claims: { auth_time: Math.floor(now / 1000) } }
    const recent = jarOf(await finish(await begin()))
    isRejection(t, await post('/login/corp/link', recent), again, 'the provider knew the browser')
    provider.idToken = { claims: { auth_time: undefined } }
    const silent = jarOf(await finish(await begin()))
    t.equal((await post('/login/corp/link', silent)).statusCode, 200)
  },
)

t.test('returnTo of the body is a path of this app, as that of the query', async (t) => {
  const provider = await startProvider(t)
  const declare = (app: TestApp): unknown => app.register(formbody)
  const { enter, link, post } = await linkApp(t, provider, { returnTo: '/home' }, {}, {}, declare)
  const session = await enter()
  t.equal((await link(session)).headers.location, '/home', 'without a body')
  t.equal((await link(session, {})).headers.location, '/home')
  t.equal((await link(session, { returnTo: '/a?b#c', more: 1 })).headers.location, '/a?b#c')
  for (const returnTo of ['', 'a', '//evil.example', '/\\evil.example', `/${'a'.repeat(512)}`, 7]) {
    const response = await post('/login/corp/link', session, { returnTo })
    t.equal(response.statusCode, 400, String(returnTo))
    t.match(JSON.parse(response.body), { code: 'FST_ERR_VALIDATION', message: /body\/returnTo/ })
    t.strictSame(linesOf(response), [])
  }
  const sent = async (payload: string, type: string) => {
    const headers = { 'content-type': type }
    return (await post('/login/corp/link', session, payload as never, headers)).statusCode
  }
  const url = 'application/x-www-form-urlencoded'
  t.equal(await sent('returnTo=%2Fnotes', url), 200, 'a form')
  t.equal(await sent('', url), 200)
  t.equal(await sent('returnTo=/a&returnTo=/b', url), 400)
  for (const body of ['[]', '7', '"a"', '{', '{"returnTo":null}', '{"returnTo":["/a"]}'])
    t.equal(await sent(body, 'application/json'), 400, body)
  t.equal(await sent('null', 'application/json'), 200)
  t.equal(await sent('/a', 'text/plain'), 400)
})

t.test('what link() throws or resolves to decides, and no session is touched', async (t) => {
  const provider = await startProvider(t)
  const links = eventsOf(t, 'link')
  let answer: () => unknown = () => true
  const link: Link = () => answer() as boolean
  const more = [{ link }, { link, failureTo: '/sorry?a=1' }]
  const options = { userServiceTimeout: 0.05 }
  const taken = [409, 'ERR_AUTH_LINK_TAKEN'] as const
  const fault = [500, 'ERR_AUTH_USER_SERVICE'] as const
  const refused = [401, 'ERR_AUTH_REFUSED'] as const
  const thrown = (error: unknown) => () => {
    throw error
  }
  const own = new AuthenticationError('Not today.')
  const rows: [what: string, answer: () => unknown, status: number, code: string][] = [
    ['undefined', () => undefined, ...taken],
    ['null', async () => null, ...taken],
    ['false', async () => false, ...taken],
    ['0', () => 0, ...taken],
    ['no row', async () => ({ rowCount: 0, rows: [] }), ...taken],
    ['an unknown number of rows', () => ({ rowCount: null, rows: [] }), ...fault],
    ['throws', thrown(new Error('a secret of the database')), ...fault],
    ['throws null', thrown(null), ...fault],
    ['rejects', () => Promise.reject(new Error('down')), ...fault],
    ['returns an error', () => new Error('a secret of the database'), ...fault],
    ['resolves to an error', async () => new Error('down'), ...fault],
    ['throws an AuthenticationError', thrown(own), ...refused],
    ['returns an AuthenticationError', () => own, ...refused],
    ['slow', () => never, 503, 'ERR_AUTH_USER_SERVICE_TIMEOUT'],
  ]
  for (const each of more) {
    const { enter, link, get, last } = await linkApp(t, provider, each, options)
    const session = await enter()
    for (const [what, next, status, code] of rows) {
      answer = next
      const response = await link(session)
      const leads = 'failureTo' in each && status !== 500
      t.equal(response.statusCode, leads ? 303 : status, what)
      const to = leads ? `/sorry?a=1&error=${code}&provider=corp` : undefined
      t.equal(response.headers.location, to, what)
      t.notMatch(response.body, /secret/, what)
      t.equal(last().code, code, what)
      t.ok(keepsCookies(response), what)
    }
    answer = () => 1
    t.equal((await link(session)).statusCode, 303)
    t.equal((await get('/me', session)).statusCode, 200, 'still logged in')
  }
  t.equal(links.length, more.length, 'no event of a link that was not stored')
})

t.test('a fault at the callback is a 500, a 503 or a 401, and nothing is linked', async (t) => {
  const provider = await startProvider(t)
  const store = breakable(heldStore().factory)
  const { findByUsername } = userService()
  let find = findByUsername as (...given: Parameters<typeof findByUsername>) => unknown
  const users = { userService: serviceOf((...given) => find(...given)), userServiceTimeout: 0.05 }
  const options = { ...users, sessions: { store: store.factory } }
  const { enter, beginLink, post, get, last, owners } = await linkApp(t, provider, {}, options)
  const session = await enter()
  const down = new Error('a secret of the database')
  const suspended = new AuthenticationError('suspended')
  const rows: [status: number, code: string, breakIt: () => unknown][] = [
    [500, 'ERR_AUTH_USER_SERVICE', () => (find = () => Promise.reject(down))],
    [401, 'ERR_AUTH_LOGIN_STATE', () => (find = () => Promise.reject(suspended))],
    [503, 'ERR_AUTH_USER_SERVICE_TIMEOUT', () => (find = () => never)],
    [503, 'ERR_AUTH_STORE_UNAVAILABLE', () => (store.failure = down)],
    [503, 'ERR_AUTH_PROVIDER_UNAVAILABLE', () => provider.kill()],
  ]
  for (const [status, code, breakIt] of rows) {
    const { callback, cookie } = await beginLink(session)
    await breakIt()
    if (status === 503 && find === findByUsername)
      t.equal((await post('/login/corp/link', session)).statusCode, 200, 'enough is known')
    const response = await get(callback.pathname + callback.search, cookie)
    find = findByUsername
    store.failure = null
    t.equal(response.statusCode, status, code)
    t.equal(response.headers['retry-after'] !== undefined, status === 503, code)
    t.notMatch(response.body, /secret/)
    t.equal(last().code, code)
    t.ok(keepsCookies(response))
  }
  t.equal(owners.size, 0)
  const fresh = await linkApp(t, provider)
  const response = await fresh.post('/login/corp/link', await fresh.enter())
  t.match(response, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
  t.strictSame(linesOf(response), [])
})

t.test('a sub that is a number stays one, and a link below a prefix works', async (t) => {
  const provider = await startProvider(t)
  const asked: unknown[] = []
  const service = serviceOf((name) => {
    asked.push(name)
    return { id: 7, name: 'alice', password: users[0]?.password }
  })
  const login = { subject: () => 7, path: '/in' }
  const links = eventsOf(t, 'link')
  const setting = await linkApp(t, provider, {}, { userService: service, login })
  const { beginLink, app } = setting
  const payload = { username: 'alice', password: passwords.alice }
  const session = jarOf(await app.inject({ method: 'POST', url: '/in', headers: tls, payload }))
  const begun = await beginLink(session, {}, '/in/corp')
  t.match(claimsOf(tokenOf(begun.attempt)), { sub: 7, path: '/in/corp' })
  asked.length = 0
  const url = begun.callback.pathname + begun.callback.search
  t.equal((await setting.get(url, begun.cookie)).statusCode, 303)
  t.strictSame([asked, links.map(({ sub }) => sub)], [[7], ['7']])
})

t.test(
  'the cookie of a link has at most 1,200 bytes beside returnTo, and 4,096 in all',
  async (t) => {
    const provider = await startProvider(t)
    const signingMethod = 'RS512'
    const rsa = { private: privatePem(keys.rsa.privateKey) }
    let sub = 'alice'
    const options = {
      userService: serviceOf(() => ({ name: 'alice', password: users[0]?.password })),
      jwt: { rsa, signingMethod, issuer: 'https://shop.example', audience: 'shop' },
      login: { subject: () => sub, signingMethod },
    } as const
    const { enter, beginLink, link, post } = await linkApp(t, provider, {}, options)
    const session = await enter()
    t.equal((await link(session)).statusCode, 303)
    // A signature by a key of 4096 bits has 341 more.
    t.ok(linesOf((await beginLink(session)).response).join().length <= 1200 - 341)
    sub = '"'.repeat(1024)
    const long = await enter()
    t.equal((await link(long)).statusCode, 303)
    const response = await post('/login/corp/link', long, { returnTo: `/${'a'.repeat(511)}` })
    t.equal(response.statusCode, 400)
    t.match(JSON.parse(response.body), { code: 'FST_ERR_VALIDATION', message: /body\/returnTo/ })
    t.strictSame(linesOf(response), [])
  },
)

t.test('attempts of links count among the attempts of a browser', async (t) => {
  const provider = await startProvider(t)
  const { enter, post } = await linkApp(t, provider)
  const session = await enter()
  const jar = new Map<string, string>()
  for (let count = 0; count < 8; count += 1) {
    const cookie = [session, ...[...jar].map((pair) => pair.join('='))].join('; ')
    const response = await post('/login/corp/link', cookie, { returnTo: `/${'a'.repeat(511)}` })
    for (const { name, value } of cookiesOf(response)) {
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    const bytes = [...jar].map((pair) => pair.join('=')).join('; ').length
    t.ok(bytes < 4096 && jar.size > Math.min(count, 2), `${jar.size} of ${count + 1}`)
  }
})

t.test('a callback finds the cookie of a link behind a proxy on this machine', async (t) => {
  const provider = await startProvider(t)
  const redirectUri = 'https://localhost/login/corp/callback'
  const { app, owners } = await linkApp(t, provider, { redirectUri })
  const local = { host: 'localhost', 'sec-fetch-site': 'same-origin' }
  const send = async (url: string, headers: Record<string, string>, payload: object = {}) =>
    app.inject({ method: 'POST', url, headers: { ...local, ...headers }, payload })
  const payload = { username: 'alice', password: passwords.alice }
  // The proxy says nothing of TLS, but the browser does where it sends its origin: not with the callback.
  for (const [origin, start] of [
    ['https://localhost', '__Host-'],
    ['http://localhost', ''],
  ] as const) {
    const session = jarOf(await send('/login', { origin }, payload))
    const begun = await send('/login/corp/link', { origin, cookie: session })
    t.ok(jarOf(begun).startsWith(`${start}login-`))
    const { search } = provider.visit(new URL(begun.json<{ location: string }>().location))
    const url = `/login/corp/callback${search}`
    const cookie = `${session}; ${jarOf(begun)}`
    // Elsewhere, anyone could set the cookie without the prefix.
    const elsewhere = start === '' && (await app.inject({ url, headers: { ...tls, cookie } }))
    if (elsewhere) t.equal(elsewhere.statusCode, 401)
    const response = await app.inject({ url, headers: { ...local, cookie } })
    t.equal(response.statusCode, 303, origin)
    t.match(linesOf(response), [new RegExp(`^${start}login-[^;]+; Max-Age=0`)])
    t.ok(owners.delete(`${provider.url} alice`))
  }
})

t.test('a link that is stored after the time-out publishes its event then', async (t) => {
  const provider = await startProvider(t)
  const links = eventsOf(t, 'link')
  let store: (isStored: boolean) => void = () => undefined
  const link: Link = () => new Promise((resolve) => (store = resolve))
  const app = await linkApp(t, provider, { link }, { userServiceTimeout: 0.05 })
  t.equal((await app.link(await app.enter())).statusCode, 503)
  t.strictSame(links, [])
  store(true)
  await new Promise(setImmediate)
  t.match(links, [{ provider: 'corp', sub: String, registration: '/' }])
})
