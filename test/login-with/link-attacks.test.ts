// What an attacker, or a user in two tabs, could make of the attempt of a link.
import t, { type Test } from 'tap'
import { authn, jwtAuthenticator, type AuthnOptions } from '../../lib/index.js'
import { basic, bearer, passwords, secret, standardOptions, userService } from '../helpers/app.js'
import { linesOf, tls } from '../helpers/cookies.js'
import { serviceOf, type AnyResponse } from '../helpers/flows.js'
import {
  forgeAttempt,
  keepsCookies,
  linkApp,
  tokenOf,
  valueOf,
  type BegunLink,
  type LinkApp,
} from '../helpers/link-app.js'
import { tally } from '../helpers/load.js'
import { jarOf } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { claimsOf, eventsOf } from '../helpers/sessions.js'
import { encode, epochSeconds, hmacToken } from '../helpers/tokens.js'

const expired = 'Your login has expired. Please try again.'

/** Opens the callback of a link. */
const open = (
  { get }: LinkApp,
  { callback, cookie }: Pick<BegunLink, 'callback' | 'cookie'>,
): Promise<AnyResponse> => get(callback.pathname + callback.search, cookie)

/** Expects that a callback has linked nothing, and has logged no user in or out. */
function isRejected(t: Test, app: LinkApp, response: AnyResponse, what: string): void {
  t.equal(response.statusCode, 401, what)
  t.match(JSON.parse(response.body), { error: expired }, what)
  t.match(app.last(), { code: 'ERR_AUTH_LOGIN_STATE', reason: /./ }, what)
  t.ok(keepsCookies(response), what)
}

/** The access token in the cookies of a session. */
const tokenIn = (session: string): string => /token=([^;]+)/.exec(session)?.[1] ?? ''

t.test('an attempt of a link is that of one user, provider and registration', async (t) => {
  const provider = await startProvider(t)
  const links = eventsOf(t, 'link')
  const base = { issuer: provider.url, clientId: 'shop', username: () => 'alice' }
  const link = () => true
  const loginWith = { corp: { ...base, link }, other: { ...base, link }, plain: base }
  const shared = { ...standardOptions(), loginWith }
  // Registrations with the same key, users and provider.
  const inner = { ...shared, cookies: { name: 'admin' }, sessions: { name: 'admin' } }
  const app = await linkApp(t, provider, {}, shared, {}, (app) =>
    app.register(async (scope) => scope.register(authn, inner as AuthnOptions), {
      prefix: '/admin',
    }),
  )
  const [alice, bob] = [await app.enter('alice'), await app.enter('bob')]
  const payload = { username: 'alice', password: passwords.alice }
  const admin = jarOf(await app.post('/admin/login', '', payload))
  const { sent, attempt } = await app.beginLink(alice)
  const token = tokenOf(attempt)
  const ofBob = await app.beginLink(bob)
  const ofOther = await app.beginLink(alice, {}, '/login/other')
  const ofAdmin = await app.beginLink(admin, {}, '/admin/login/corp')
  const own = claimsOf(token)
  t.match(own, { sub: 'alice', path: '/login/corp', exp: Number(valueOf(attempt).split('.')[1]) })
  t.match(claimsOf(tokenOf(ofAdmin.attempt)), { path: '/admin/login/corp' })
  const sign = (claims: object, header: object = {}, key = secret): string =>
    hmacToken({ alg: 'HS256', typ: 'link+jwt', ...header }, { ...own, ...claims }, key)
  const [head = '', claims = '', signature = ''] = token.split('.')
  const [, claimsOfBob = ''] = tokenOf(ofBob.attempt).split('.')
  const bad: [what: string, token: string][] = [
    ['of another provider', tokenOf(ofOther.attempt)],
    ['of another registration', tokenOf(ofAdmin.attempt)],
    ['with another user', [head, encode({ ...own, sub: 'bob' }), signature].join('.')],
    ['with the claims of bob', [head, claimsOfBob, signature].join('.')],
    ['without a signature', [head, claims, ''].join('.')],
    ['of alg none', [encode({ alg: 'none', typ: 'link+jwt' }), claims, ''].join('.')],
    ['of another key', sign({}, {}, `${secret}a`)],
    ['an access token', tokenIn(alice)],
    ['of another typ', sign({}, { typ: 'account+jwt' })],
    ['without a typ', sign({}, { typ: undefined })],
    ['expired', sign({ exp: epochSeconds() - 1 })],
    ['without exp', sign({ exp: undefined })],
    ['without a path', sign({ path: undefined })],
    ['no token', 'a.b.c'],
    ['one part', 'a'],
    ['a fourth part', `${token}.a`],
  ]
  const stale: typeof bad = [
    ['of another session', sign({ sid: `another${String(own.sid)}` })],
    ['of a session of another user', sign({ sub: 'bob' })],
    ['of an unknown user', sign({ sub: 'mallory' })],
  ]
  for (const [what, text] of [...bad, ...stale]) {
    for (const session of [alice, 'a=b']) {
      const made = forgeAttempt(provider, sent, { token: text })
      provider.take()
      const response = await open(app, { ...made, cookie: `${session}; ${made.cookie}` })
      isRejected(t, app, response, `${what}, ${session === alice ? 'with' : 'without'} a session`)
      const isAsked = provider.take().includes('/token')
      t.equal(
        isAsked,
        stale.some(([each]) => each === what),
        `${what}: asks the provider`,
      )
    }
  }
  const asUser = await app.app.inject({ url: '/me', headers: { ...tls, ...bearer(token) } })
  t.equal(asUser.statusCode, 401, 'it is no access token')
  const ofPlain = sign({ path: '/login/plain' })
  const plain = forgeAttempt(provider, sent, { token: ofPlain, name: 'plain' })
  plain.callback.pathname = '/login/plain/callback'
  const notLinking = await open(app, { ...plain, cookie: `${alice}; ${plain.cookie}` })
  isRejected(t, app, notLinking, 'never a login where the option is missing')
  t.strictSame(links, [])
  for (const session of [alice, 'a=b']) {
    const made = forgeAttempt(provider, sent, { token })
    const response = await open(app, { ...made, cookie: `${session}; ${made.cookie}` })
    t.equal(response.statusCode, 303, 'a token of this user, provider and registration')
  }
  t.match(links, [{ sub: 'alice' }, { sub: 'alice' }])
})

t.test('no cookie of an attempt can be turned into one of another kind', async (t) => {
  const provider = await startProvider(t)
  const links = eventsOf(t, 'link')
  const logins = eventsOf(t, 'login')
  const app = await linkApp(t, provider)
  const session = await app.enter()
  const rows: [what: string, change: (attempt: string, token: string) => string][] = [
    ['a link without its token', (attempt, token) => attempt.replace(`.${token}`, '')],
    ['a link with a dot more', (attempt) => `${attempt}.`],
    ['a link with the token twice', (attempt, token) => `${attempt}.${token}`],
    ['a link without its signature', (attempt) => attempt.replace(/\.[^.]*$/, '')],
    ['a link with another returnTo', (attempt) => attempt.replace(/\.\./, '..L2V2aWw.')],
  ]
  for (const [what, change] of rows) {
    const begun = await app.beginLink(session)
    const attempt = change(begun.attempt, tokenOf(begun.attempt))
    t.not(attempt, begun.attempt)
    const response = await open(app, { ...begun, cookie: `${session}; ${attempt}` })
    isRejected(t, app, response, what)
    t.strictSame(linesOf(response), [], what)
  }
  // A login with the token of a link behind it, of the victim or of the attacker.
  for (const name of ['alice', 'bob'] as const) {
    const { attempt } = await app.beginLink(name === 'alice' ? session : await app.enter(name))
    const { callback, cookie } = await app.begin()
    const both = `${session}; ${cookie}.${tokenOf(attempt)}`
    isRejected(t, app, await open(app, { callback, cookie: both }), `the token of ${name}`)
  }
  // A callback that another browser has got, with the cookies of this one.
  const [mine, other] = [await app.beginLink(session), await app.beginLink(await app.enter('bob'))]
  isRejected(t, app, await open(app, { ...mine, callback: other.callback }), 'another state')
  isRejected(t, app, await open(app, { ...mine, cookie: session }), 'no cookie of the attempt')
  t.strictSame([links.length, logins.filter((each) => each.provider).length], [0, 0])
})

t.test('a link ends only in the session in which it has begun', async (t) => {
  const provider = await startProvider(t)
  const links = eventsOf(t, 'link')
  const service = userService()
  let isGone = false
  const users = serviceOf((name, request) =>
    isGone ? null : service.findByUsername(name, request),
  )
  const app = await linkApp(t, provider, {}, { userService: users })
  const { sessions } = app.app.authn
  const attemptOf = ({ cookie }: BegunLink, session: string): string =>
    cookie.replace(/^.*; (?=[^;]*login-)/, `${session}; `)
  const bob = await app.enter('bob')
  const rows: [what: string, meanwhile: (session: string, begun: BegunLink) => unknown][] = [
    ['logged out', (session) => app.post('/logout', session)],
    ['all sessions revoked', () => sessions.revoke({ sub: 'alice' })],
    ['the user was deleted', () => (isGone = true)],
    ['another user has logged in', (_, begun) => attemptOf(begun, bob)],
    ['the same user has logged in', async (_, begun) => attemptOf(begun, await app.enter())],
    ['a token without a session', (_, begun) => attemptOf(begun, tokenCookie())],
  ]
  const tokenCookie = (): string => `__Host-token=${app.app.jwtService.generateToken('alice')}`
  for (const [what, meanwhile] of rows) {
    const session = await app.enter()
    const begun = await app.beginLink(session)
    const cookie = await meanwhile(session, begun)
    const cookies = typeof cookie === 'string' ? cookie : begun.cookie
    isRejected(t, app, await open(app, { ...begun, cookie: cookies }), what)
    isGone = false
  }
  // Cached credentials of Basic must not hide the cookie, and a header counts as well.
  for (const [what, session, headers] of [
    ['Basic and the cookie of another user', bob, basic('alice', passwords.alice)],
    ['a header of another user', 'a=b', bearer(tokenIn(bob))],
    ['a malformed header', 'a=b', { authorization: 'Bearer\ta' }],
    ['two cookies of a token', `${bob}; ${bob}`, {}],
  ] as const) {
    const begun = await app.beginLink(await app.enter())
    const url = begun.callback.pathname + begun.callback.search
    const cookie = `${session}; ${begun.attempt}`
    const response = await app.app.inject({ url, headers: { ...tls, cookie, ...headers } })
    isRejected(t, app, response, what)
  }
  t.strictSame(links, [])
})

t.test('access tokens with an audience of their own count as others do', async (t) => {
  const provider = await startProvider(t)
  const app = await linkApp(
    t,
    provider,
    {},
    {
      login: { claims: () => ({ aud: 'api' }) },
      authenticators: { jwt: jwtAuthenticator({ audience: 'api' }) },
    },
  )
  const [alice, bob] = [await app.enter('alice'), await app.enter('bob')]
  const begun = await app.beginLink(alice)
  const cookie = `${bob}; ${begun.attempt}`
  isRejected(t, app, await open(app, { ...begun, cookie }), 'another user has logged in')
  const again = await app.beginLink(alice)
  t.equal((await open(app, again)).statusCode, 303)
  t.strictSame([...app.owners.values()], ['alice'])
})

t.test('a link outlives the access token, and a refresh in another tab', async (t) => {
  const provider = await startProvider(t)
  const links = eventsOf(t, 'link')
  const app = await linkApp(t, provider)
  const session = await app.enter()
  const [one, two, three] = [
    await app.beginLink(session),
    await app.beginLink(session),
    await app.beginLink(session),
  ]
  const refreshed = jarOf(await app.post('/login/refresh', session))
  t.notMatch(refreshed, tokenIn(session))
  const other = `${refreshed}; ${one.attempt}`
  t.equal((await open(app, { ...one, cookie: other })).statusCode, 303, 'another token')
  const now = Date.now()
  let ahead = 600
  t.intercept(Date, 'now', { value: () => now + ahead * 1000 })
  t.equal((await open(app, { ...two, cookie: two.attempt })).statusCode, 303, 'no token')
  const stale = `__Host-token=${tokenIn(await app.enter('bob'))}; ${three.attempt}`
  ahead = 1300
  t.equal((await open(app, { ...three, cookie: stale })).statusCode, 303, 'an expired token')
  t.equal(links.length, 3)
  const late = await app.beginLink(await app.enter())
  ahead += 1801
  isRejected(t, app, await open(app, late), 'half an hour')
})

t.test('who logs all sessions out by jwt.validAfterField stops the links too', async (t) => {
  const provider = await startProvider(t)
  const links = eventsOf(t, 'link')
  const { findByUsername } = userService()
  let validAfter: Date | null = null
  const service = serviceOf(async (name, request) => ({
    ...(await findByUsername(name, request)),
    validAfter,
  }))
  const options = { userService: service, jwt: { secret, validAfterField: 'validAfter' } }
  const app = await linkApp(t, provider, {}, options)
  const session = await app.enter()
  const begun = await app.beginLink(session)
  validAfter = new Date(Date.now() + 1000)
  isRejected(t, app, await open(app, begun), 'logged out meanwhile')
  t.equal((await app.post('/login/corp/link', session)).statusCode, 401)
  // A new session of the same second is newer than that.
  const fresh = await app.beginLink(await app.enter())
  t.equal((await open(app, fresh)).statusCode, 303)
  t.match(links, [{ sub: 'alice' }])
})

t.test('of simultaneous links each is decided by the app, and none logs in', async (t) => {
  const provider = await startProvider(t)
  const logins = eventsOf(t, 'login')
  const app = await linkApp(t, provider)
  const sessions = [await app.enter('alice'), await app.enter('bob')]
  const all = sessions.flatMap((session) => [app.link(session), app.link(session)])
  t.strictSame(tally(await Promise.all(all)), { 303: 2, 409: 2 })
  t.equal(app.owners.size, 1)
  t.equal(logins.length, 2, 'those with passwords')
})
