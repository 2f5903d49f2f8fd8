import t, { type Test } from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { passwords } from '../helpers/app.js'
import { cookieApp, cookiesOf, linesOf, tls } from '../helpers/cookies.js'
import { bearerChallenge, isRejection, type AnyResponse } from '../helpers/flows.js'
import { breakable, claimsOf, eventsOf, heldStore } from '../helpers/sessions.js'

const invalid = {
  error: 'Your session has expired. Please log in again.',
  challenge: bearerChallenge,
}
const cleared = [
  '__Host-token=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax',
  '__Host-refresh=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict',
]

type Headers = Record<string, string>

/** An app behind TLS with sessions and cookies. */
async function open(t: Test, options: Partial<AuthnOptions> = {}) {
  const { login: send, ...app } = await cookieApp(t, { sessions: true, ...options })
  const login = async (headers: Headers = {}, more: object = {}) => {
    const response = await send({ ...tls, ...headers }, more)
    const [token, refresh] = cookiesOf(response)
    return { token: token?.value ?? '', refresh: refresh?.value ?? '', response }
  }
  return { ...app, login }
}

const refreshCookie = (value: string): Headers => ({ cookie: `__Host-refresh=${value}` })

t.test('login and refresh set both cookies, and a logout clears them', async (t) => {
  const { post, login, me } = await open(t)
  const { token, refresh, response } = await login()
  t.equal(response.body, '{"expiresIn":300}')
  t.strictSame(linesOf(response), [
    `__Host-token=${token}; Max-Age=300; Path=/; Secure; HttpOnly; SameSite=Lax`,
    `__Host-refresh=${refresh}; Max-Age=1209600; Path=/; Secure; HttpOnly; SameSite=Strict`,
  ])
  t.equal(response.headers['cache-control'], 'no-store')

  const refreshed = await post('/login/refresh', refreshCookie(refresh))
  t.equal(refreshed.statusCode, 200)
  t.equal(refreshed.body, '{"expiresIn":300}')
  t.equal(refreshed.headers['cache-control'], 'no-store')
  const [next, nextRefresh] = cookiesOf(refreshed)
  t.match([next?.name, nextRefresh?.name], ['__Host-token', '__Host-refresh'])
  t.not(nextRefresh?.value, refresh)
  t.equal(await me(next?.value ?? ''), 200)

  const left = await post('/logout', { cookie: `__Host-token=${next?.value}` })
  t.strictSame([left.statusCode, left.body], [204, ''])
  t.strictSame(linesOf(left), cleared)
  for (const each of [token, next?.value ?? '']) t.equal(await me(each), 401, 'revoked at once')
  t.equal((await post('/login/refresh', refreshCookie(nextRefresh?.value ?? ''))).statusCode, 401)
})

t.test('a refresh token in the body is answered in the body, if there is no cookie', async (t) => {
  const { post, login } = await open(t)
  const first = await login()
  const second = await login()
  const inBody = await post('/login/refresh', {}, { refreshToken: first.refresh })
  t.equal(inBody.statusCode, 200)
  const body = JSON.parse(inBody.body) as Record<string, string>
  t.strictSame(Object.keys(body), ['token', 'refreshToken', 'expiresIn'])
  t.strictSame(linesOf(inBody), [])
  // The cookie counts; the token in the body stays unused.
  const both = { refreshToken: body.refreshToken }
  const byCookie = await post('/login/refresh', refreshCookie(second.refresh), both)
  t.equal(byCookie.body, '{"expiresIn":300}')
  t.equal(linesOf(byCookie).length, 2)
  t.equal((await post('/login/refresh', {}, both)).statusCode, 200)
  // A bad cookie is no reason to look into the body.
  const fresh = await login()
  const bad = await post('/login/refresh', refreshCookie('x'), { refreshToken: fresh.refresh })
  isRejection(t, bad, invalid)
  const twice = { cookie: `__Host-refresh=${fresh.refresh}; __Host-refresh=${fresh.refresh}` }
  t.equal((await post('/login/refresh', twice)).statusCode, 401)
  t.equal((await post('/login/refresh')).statusCode, 401)
  const names = ['refresh', '__Secure-refresh', '__Host-token', '__Host-Refresh']
  for (const name of names) {
    const response = await post('/login/refresh', { cookie: `${name}=${fresh.refresh}` })
    t.equal(response.statusCode, 401, name)
  }
  t.equal((await post('/login/refresh', refreshCookie(fresh.refresh))).statusCode, 200, 'unused')
  // A refresh token is no access token, in whichever cookie.
  t.equal((await post('/notes', { cookie: `__Host-token=${fresh.refresh}` })).statusCode, 401)
})

t.test('a logout revokes the session of its refresh token, in cookie or body', async (t) => {
  const { post, login, me } = await open(t)
  for (const way of ['cookie', 'body'] as const) {
    const { token, refresh } = await login()
    const other = await login()
    const left =
      way === 'cookie'
        ? await post('/logout', { cookie: `__Host-token=x; __Host-refresh=${refresh}` })
        : await post('/logout', {}, { refreshToken: refresh })
    t.equal(left.statusCode, 204, way)
    t.equal(linesOf(left).length, 2, 'both cookies are cleared')
    t.strictSame([await me(token), await me(other.token)], [401, 200])
  }
  const [first, second] = [await login(), await login()]
  const cookie = `__Host-token=${first.token}`
  t.equal((await post('/logout', { cookie }, { everywhere: true })).statusCode, 204)
  t.strictSame([await me(first.token), await me(second.token)], [401, 401])
})

t.test('a refresh that gets a 401 clears the cookies, a 429 or 503 does not', async (t) => {
  const store = breakable(heldStore().factory)
  const { post, login, app } = await open(t, {
    sessions: { store: store.factory },
    throttle: { perAddress: 4 },
  })
  const { refresh } = await login()
  await app.authn.sessions.revoke({ sub: 'alice' })
  const twice = `__Host-refresh=${refresh}; __Host-refresh=${refresh}`
  for (const headers of [refreshCookie(refresh), refreshCookie('x'), { cookie: twice }, {}]) {
    const response = await post('/login/refresh', headers, {})
    t.equal(response.statusCode, 401)
    t.strictSame(linesOf(response), cleared)
  }
  t.equal((await post('/login/refresh', {}, { refreshToken: 1 })).statusCode, 400)
  const good = await login()
  store.failure = new Error('away')
  const unavailable = await post('/login/refresh', refreshCookie(good.refresh))
  t.strictSame([unavailable.statusCode, linesOf(unavailable)], [503, []])
  t.equal((await login(refreshCookie(good.refresh))).response.statusCode, 503)
  store.failure = null
  for (const url of ['/login/refresh', '/logout']) {
    for (const value of ['y', 'z']) await post(url, refreshCookie(value))
    const throttled = await post(url, refreshCookie('z'))
    t.strictSame([throttled.statusCode, linesOf(throttled)], [429, []], url)
  }
  const next = await post('/login/refresh', refreshCookie(good.refresh))
  t.strictSame([next.statusCode, linesOf(next)], [429, []], 'it keeps its cookies until then')
  t.equal((await login(refreshCookie(good.refresh))).response.statusCode, 200, 'a login goes on')
})

t.test('a login revokes the session of the refresh cookie that the browser has', async (t) => {
  const { app, post, login, me } = await open(t, { sessions: { grace: 0.05, maxPerUser: 4 } })
  const revoked = eventsOf(t, 'logout')
  const reused = eventsOf(t, 'reuse')
  const again = async (cookie: string, body: object = {}): Promise<AnyResponse> =>
    (await login({ cookie }, body)).response
  const [first, other] = [await login(), await login()]
  t.equal((await again(`__Host-refresh=${first.refresh}`, { password: 'x' })).statusCode, 401)
  t.equal(await me(first.token), 200, 'a login that is rejected changes nothing')
  // At the limit with the new session, if the old one still counted.
  const [third, fourth] = [await login(), await login()]
  const replaced = await again(`__Host-token=${first.token}; __Host-refresh=${first.refresh}`)
  t.equal(replaced.statusCode, 200)
  const [token, refresh] = cookiesOf(replaced).map(({ value }) => value) as [string, string]
  const statuses = async () => Promise.all([first.token, other.token, third.token, token].map(me))
  t.strictSame(await statuses(), [401, 200, 200, 200], 'the limit costs no other session')
  t.equal((await post('/login/refresh', refreshCookie(first.refresh))).statusCode, 401)
  t.match(revoked, [{ authenticator: 'login', sub: 'alice', everywhere: false, revoked: 1 }])
  await app.authn.sessions.revoke({ sid: sidOf(fourth.response) })

  // Garbage, another registration's cookie, a cookie twice, and the session of the body change nothing.
  const foreign = (await (await open(t)).login()).refresh
  const wrong = ['x', '', first.refresh, foreign, `${refresh}x`]
  for (const each of wrong.map((text) => `__Host-refresh=${text}`)) {
    const response = await again(each)
    t.equal(response.statusCode, 200, each)
    await app.authn.sessions.revoke({ sid: sidOf(response) })
  }
  const twice = `__Host-refresh=${refresh}; __Host-refresh=${refresh}`
  await app.authn.sessions.revoke({ sid: sidOf(await again(twice)) })
  await app.authn.sessions.revoke({ sid: sidOf(await again('', { refreshToken: refresh })) })
  t.strictSame(await statuses(), [401, 200, 200, 200])
  t.strictSame([revoked.length, reused.length], [1, 0])

  // Whoever's session it was: two people at one browser.
  const bob = { username: 'bob', password: passwords.bob }
  t.equal((await post('/login', refreshCookie(other.refresh), bob)).statusCode, 200)
  t.strictSame(await statuses(), [401, 401, 200, 200])
  // An old token is reuse here too.
  const next = cookiesOf(await post('/login/refresh', refreshCookie(third.refresh)))
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.equal((await again(`__Host-refresh=${third.refresh}`)).statusCode, 200)
  t.strictSame(await statuses(), [401, 401, 401, 200])
  t.equal(await me(next[0]?.value ?? ''), 401)
  t.match(reused, [{ authenticator: 'login', sub: 'alice' }])
})

const sidOf = (response: AnyResponse) => claimsOf(cookiesOf(response)[0]?.value ?? '').sid as string
