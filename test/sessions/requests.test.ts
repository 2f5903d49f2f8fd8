import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { bearer, logLines, passwords, secret, userService, users } from '../helpers/app.js'
import { memorySessions } from '../../lib/sessions/index.js'
import { newRefreshToken } from '../../lib/sessions/refresh-token.js'
import { rejectionOf } from '../helpers/errors.js'
import { FakeRedis } from '../helpers/fake-redis.js'
import {
  bearerChallenge,
  deferred,
  isFault,
  isRejection,
  messages,
  tokenChallenge,
} from '../helpers/flows.js'
import {
  breakable,
  claimsOf,
  clientOf,
  eventsOf,
  heldStore,
  pairOf,
  sessionApp,
} from '../helpers/sessions.js'
import type { AuthnOptions, LoginClaims, SessionsOptions } from '../../lib/index.js'

const over = 'Your session has expired. Please log in again.'
const stolen = 'Your session was revoked to protect your account. Please log in again.'
const invalid = { error: over, challenge: bearerChallenge }
const reused = { error: stolen, challenge: bearerChallenge }

/** An app over a store whose clock the test holds. */
async function setting(
  t: Parameters<typeof sessionApp>[0],
  sessions: SessionsOptions = {},
  options: Partial<AuthnOptions> = {},
) {
  const { factory, advance } = heldStore()
  const app = await sessionApp(t, { sessions: { store: factory, ...sessions }, ...options })
  return { app, advance, factory, ...clientOf(app) }
}

t.test('a login and a refresh return two tokens each, and a logout revokes all', async (t) => {
  const { login, refresh, me, post, app } = await setting(t)
  const first = await login()
  t.strictSame(Object.keys(first), ['token', 'refreshToken', 'expiresIn'])
  t.equal(first.expiresIn, 300)
  const claims = claimsOf(first.token)
  const names = ['amr', 'auth_time', 'exp', 'iat', 'jti', 'nbf', 'sid', 'sub']
  t.strictSame(Object.keys(claims).toSorted(), names)
  t.equal(await me(first.token), 200)

  const successes = eventsOf(t, 'success')
  const answer = await refresh(first.refreshToken)
  t.equal(answer.headers['cache-control'], 'no-store')
  const second = pairOf(answer)
  t.match(successes, [{ authenticator: 'refresh', user: { name: 'alice' } }])
  t.notOk('password' in (successes[0]?.user ?? {}))
  t.not(second.refreshToken, first.refreshToken)
  const next = claimsOf(second.token)
  t.strictSame([next.sid, next.sub], [claims.sid, claims.sub])
  t.not(next.jti, claims.jti)
  t.strictSame([await me(first.token), await me(second.token)], [200, 200])

  const logouts = eventsOf(t, 'logout')
  const left = await post('/logout', undefined, bearer(second.token))
  t.strictSame([left.statusCode, left.body, left.headers['cache-control']], [204, '', 'no-store'])
  t.match(logouts, [{ sid: claims.sid, sub: 'alice', everywhere: false, revoked: 1 }])
  t.strictSame([await me(first.token), await me(second.token)], [401, 401])
  isRejection(t, await refresh(second.refreshToken), invalid)
  t.equal((await post('/logout', undefined, bearer(second.token))).statusCode, 401)
  t.match(app.authn.stats().sessions, {
    begun: 1,
    refreshed: 1,
    reused: 0,
    revoked: 1,
    storeFailures: 0,
    isCaughtUp: true,
  })
})

t.test('a logout needs no user service, unless a check of tokens asks it', async (t) => {
  for (const [validAfterField, status] of [
    [undefined, 204],
    ['tokensValidAfter', 500],
  ] as const) {
    const service = userService(users.map((user) => ({ ...user, tokensValidAfter: null })))
    let isDown = false
    const findByUsername: typeof service.findByUsername = async (name, request) => {
      if (isDown) throw new Error('database is away')
      return service.findByUsername(name, request)
    }
    const jwt = { secret, ...(validAfterField && { validAfterField }) }
    const { login, post } = await setting(t, {}, { userService: { findByUsername }, jwt })
    const [first, second] = [await login(), await login()]
    isDown = true
    const byAccess = await post('/logout', undefined, bearer(first.token))
    const byRefresh = await post('/logout', { refreshToken: second.refreshToken })
    t.strictSame([byAccess.statusCode, byRefresh.statusCode], [status, status])
  }
})

t.test('a refresh token works again for 10 s, and its use later revokes all tokens', async (t) => {
  const { login, refresh, me, advance, app } = await setting(t)
  const first = await login()
  const second = pairOf(await refresh(first.refreshToken))
  advance(9.9)
  const again = pairOf(await refresh(first.refreshToken))
  t.equal(again.refreshToken, second.refreshToken)
  t.equal(await me(again.token), 200)

  const events = eventsOf(t, 'reuse')
  advance(0.2)
  isRejection(t, await refresh(first.refreshToken), reused)
  t.match(events, [{ sub: 'alice', sid: claimsOf(first.token).sid, authenticator: 'refresh' }])
  for (const { token } of [first, second, again]) t.equal(await me(token), 401)
  isRejection(t, await refresh(second.refreshToken), invalid)
  t.equal(app.authn.stats().sessions?.reused, 1)
})

t.test('a refresh token before the last one is a reuse, also within the grace', async (t) => {
  const { login, refresh, me } = await setting(t)
  const first = await login()
  const second = pairOf(await refresh(first.refreshToken))
  const third = pairOf(await refresh(second.refreshToken))
  const other = await login()
  isRejection(t, await refresh(first.refreshToken), reused)
  t.equal(await me(third.token), 401)
  isRejection(t, await refresh(third.refreshToken), invalid)
  t.equal(await me(other.token), 200, 'another session of the user goes on')
  const strict = await setting(t, { grace: 0 })
  const { refreshToken } = await strict.login()
  pairOf(await strict.refresh(refreshToken))
  isRejection(t, await strict.refresh(refreshToken), reused, 'grace 0')
})

t.test('no token of a session works that is revoked while it is refreshed', async (t) => {
  let pause: Promise<void> | null = null
  const slow = userService()
  const options = {
    userService: {
      async findByUsername(name: string | number) {
        await pause
        return slow.findByUsername(name, undefined as never)
      },
    },
  }
  const { login, refresh, me, post, app } = await setting(t, {}, options)
  for (const everywhere of [false, true]) {
    const first = await login()
    const gate = deferred()
    pause = gate.promise
    const refreshing = refresh(first.refreshToken)
    await new Promise(setImmediate)
    const left = await post('/logout', { everywhere }, bearer(first.token))
    t.equal(left.statusCode, 204)
    gate.resolve()
    pause = null
    isRejection(t, await refreshing, invalid)
    t.equal(await me(first.token), 401)
    t.strictSame(await app.authn.sessions.list('alice'), [])
  }
  // Without an order: whoever comes first, no token of the session works afterwards.
  for (let turn = 0; turn < 20; turn += 1) {
    const { token, refreshToken } = await login()
    const [refreshed, left] = await Promise.all([
      refresh(refreshToken),
      post('/logout', { refreshToken }),
    ])
    t.equal(left.statusCode, 204)
    t.equal(await me(token), 401)
    if (refreshed.statusCode !== 200) continue
    const late = pairOf(refreshed)
    t.equal(await me(late.token), 401)
    t.equal((await refresh(late.refreshToken)).statusCode, 401)
  }
})

t.test('a refresh extends idle but not lifetime, and no token outlives its session', async (t) => {
  // Claims are whole seconds: late in one, the time that a refresh takes does not cost another.
  t.intercept(Date, 'now', { value: () => 1_800_000_000_999 })
  const { login, refresh, advance } = await setting(
    t,
    { lifetime: 1000, idle: 600 },
    { jwt: { secret, expiry: 500 } },
  )
  let pair = await login()
  advance(599)
  pair = pairOf(await refresh(pair.refreshToken))
  t.equal(pair.expiresIn, 401, 'what is left of the lifetime')
  const { exp, iat } = claimsOf(pair.token) as { exp: number; iat: number }
  t.equal(exp - iat, 401)
  advance(400)
  pair = pairOf(await refresh(pair.refreshToken))
  t.equal(pair.expiresIn, 1)
  advance(1)
  isRejection(t, await refresh(pair.refreshToken), invalid)

  const idle = await login()
  advance(600)
  isRejection(t, await refresh(idle.refreshToken), invalid)
})

t.test('a logout takes either token, revokes all sessions if asked, or gets a 401', async (t) => {
  const { login, refresh, me, post, app } = await setting(t)
  const [one, two, three] = [await login(), await login(), await login()]
  t.equal((await post('/logout', { refreshToken: one.refreshToken })).statusCode, 204)
  t.strictSame([await me(one.token), await me(two.token)], [401, 200])
  const stale = bearer(`${two.token}x`)
  const left = await post('/logout', { refreshToken: two.refreshToken, everywhere: true }, stale)
  t.equal(left.statusCode, 204)
  t.strictSame([await me(two.token), await me(three.token)], [401, 401])
  t.equal((await refresh(three.refreshToken)).statusCode, 401)
  t.strictSame(await app.authn.sessions.list('alice'), [])

  isRejection(t, await post('/logout'), {
    error: 'Invalid or missing authentication header.',
    challenge: bearerChallenge,
  })
  isRejection(t, await post('/logout', { refreshToken: one.refreshToken }), invalid)
  const sidless = app.jwtService.generateToken('alice')
  t.equal((await post('/logout', undefined, bearer(sidless))).statusCode, 401, 'without a session')
  t.equal((await post('/logout', undefined, { authorization: 'Bearer a b' })).statusCode, 401)
  const several = { authorization: [`Bearer ${two.token}`, `Bearer ${three.token}`] }
  t.equal((await post('/logout', undefined, several as never)).statusCode, 401, 'several')
})

t.test('an old refresh token at a logout is a reuse, and revokes its session only', async (t) => {
  for (const everywhere of [true, false]) {
    const { login, refresh, me, post, advance, app } = await setting(t)
    const [first, other] = [await login(), await login()]
    const second = pairOf(await refresh(first.refreshToken))
    const third = pairOf(await refresh(second.refreshToken))
    const reuses = eventsOf(t, 'reuse')
    const logouts = eventsOf(t, 'logout')
    isRejection(t, await post('/logout', { refreshToken: first.refreshToken, everywhere }), reused)
    const { sid } = claimsOf(first.token)
    t.match(reuses, [{ authenticator: 'logout', sid, sub: 'alice' }])
    t.strictSame([logouts, app.authn.stats().sessions?.reused], [[], 1])
    t.strictSame([await me(third.token), await me(other.token)], [401, 200])
    isRejection(t, await refresh(third.refreshToken), invalid)

    const next = pairOf(await refresh(other.refreshToken))
    const within = { refreshToken: other.refreshToken, everywhere }
    t.equal((await post('/logout', within)).statusCode, 204, 'within the grace it is no reuse')
    t.equal(await me(next.token), 401)
    const last = await login()
    await refresh(last.refreshToken)
    advance(11)
    const after = { refreshToken: last.refreshToken, everywhere }
    isRejection(t, await post('/logout', after), reused, 'after the grace')
    t.equal(reuses.length, 2)
  }
})

t.test('a token from before validAfterField cannot log out everywhere', async (t) => {
  let since: Date | null = null
  const { login, me, post, app } = await setting(
    t,
    {},
    {
      jwt: { secret, validAfterField: 'since' },
      userService: {
        findByUsername: (name) =>
          [...users].filter((user) => user.name === name).map((user) => ({ ...user, since }))[0],
      },
    },
  )
  const old = await login()
  since = new Date(Date.now() + 2000)
  const next = await login()
  t.equal(await me(next.token), 200)
  const everywhere = true
  const byAccess = await post('/logout', { everywhere }, bearer(old.token))
  isRejection(t, byAccess, {
    error: messages.loggedOut,
    challenge: tokenChallenge('The token is invalid'),
  })
  t.equal((await app.authn.sessions.list('alice')).length, 2)
  isRejection(t, await post('/logout', { everywhere, refreshToken: old.refreshToken }), invalid)
  const left = await app.authn.sessions.list('alice')
  t.match(left, [{ sid: claimsOf(next.token).sid }], 'its session alone is revoked')
  t.equal(await me(next.token), 200)
  const { refreshToken } = await login()
  t.equal((await post('/logout', { refreshToken })).statusCode, 204)
  t.equal((await post('/logout', { everywhere }, bearer(next.token))).statusCode, 204)
})

t.test('a refresh revokes the session if its user is deleted or has another sub', async (t) => {
  let list = [...users]
  let suffix = ''
  const options: Partial<AuthnOptions> = {
    userService: {
      findByUsername: (name) =>
        list.find((user) => `${user.id}` === `${name}` || user.name === name),
    },
    login: { claims: (_, user) => ({ sub: `${(user as { id: number }).id}${suffix}`, role: 'x' }) },
  }
  const { login, refresh, me, app } = await setting(t, {}, options)
  const first = await login()
  t.match(claimsOf(first.token), { sub: '1', role: 'x' })
  t.equal(await me(first.token), 200)
  suffix = '0'
  isRejection(t, await refresh(first.refreshToken), invalid, 'another sub')
  t.equal(await me(first.token), 401)
  suffix = ''
  const second = await login()
  list = []
  isRejection(t, await refresh(second.refreshToken), invalid, 'gone')
  list = [...users]
  t.equal(await me(second.token), 401)
  t.strictSame(await app.authn.sessions.list('1'), [])
})

t.test('login.claims is called at each refresh, and is a 500 if it sets sid or exp', async (t) => {
  let claims: unknown = { sub: 1, level: 1 }
  const asked: (string | number)[] = []
  const options: Partial<AuthnOptions> = {
    userService: {
      findByUsername: (name) => {
        asked.push(name)
        return users[0]
      },
    },
    login: { claims: async () => claims as LoginClaims },
  }
  const { login, refresh, post, me } = await setting(t, {}, options)
  const first = await login()
  claims = { sub: 1, level: 2 }
  asked.length = 0
  const second = pairOf(await refresh(first.refreshToken))
  t.match(claimsOf(second.token), { sub: 1, level: 2 })
  t.equal(await me(second.token), 200)
  t.strictSame(asked, [1, 1])
  const alice = { username: 'alice', password: passwords.alice }
  const ours = [{ sid: 'x' }, { exp: 9e9 }, { iat: 1 }, { nbf: 1 }, { jti: 'x' }]
  for (const wrong of [...ours, 'text', [], { sub: null }, { sub: '' }, { big: 1n }]) {
    claims = wrong
    isFault(t, await post('/login', alice), 'ERR_AUTH_TOKEN_FUNC')
  }
  claims = null
  t.equal(claimsOf((await login()).token).sub, 'alice')
})

t.test('app.authn.sessions lists and revokes sessions, and rejects wrong arguments', async (t) => {
  const { factory, advance } = heldStore()
  const server = { trustProxy: true }
  const app = await sessionApp(t, { sessions: { store: factory } }, undefined, server)
  const { login, me, refresh } = clientOf(app)
  const { sessions } = app.authn
  const agent = `Agent\u0007/1.0 ${'x'.repeat(300)}`
  const first = await login({ 'user-agent': agent, 'x-forwarded-for': '1'.repeat(70) })
  advance(5)
  const second = await login()
  advance(5)
  await refresh(first.refreshToken)
  const list = await sessions.list('alice')
  t.strictSame(list, [
    {
      sid: claimsOf(second.token).sid,
      created: new Date(1_800_000_005_000),
      lastUsed: new Date(1_800_000_005_000),
      address: '127.0.0.1',
      userAgent: 'lightMyRequest',
    },
    {
      sid: claimsOf(first.token).sid,
      created: new Date(1_800_000_000_000),
      lastUsed: new Date(1_800_000_010_000),
      address: '1'.repeat(64),
      userAgent: agent.replace('\u0007', '').slice(0, 256),
    },
  ])
  t.strictSame(await sessions.list('bob'), [])
  t.equal(await sessions.revoke({ sid: claimsOf(first.token).sid as string }), 1)
  t.strictSame([await me(first.token), await me(second.token)], [401, 200])
  t.equal(await sessions.revoke({ sid: 'unknown' }), 0)
  t.equal(await sessions.revoke({ sub: 'alice' }), 1)
  t.equal(await me(second.token), 401)
  const digest = createHash('sha256').update('alice').digest('base64url')
  t.strictSame(
    await sessions.list(`revoked ${digest}`),
    [],
    'a revocation is stored under no username',
  )
  const neither = [{}, undefined, { sid: undefined }, { sid: 'a', sub: 'b' }]
  for (const wrong of [...neither, { sub: {} }, { sub: null }, { sid: '' }]) {
    const error = await rejectionOf(sessions.revoke(wrong as never))
    t.match(error, { code: 'ERR_AUTH_CLAIMS' })
  }
  t.match(await rejectionOf(sessions.list(undefined as never)), { code: 'ERR_AUTH_CLAIMS' })
  // No session has such a name, and databases fail at it.
  t.strictSame(await sessions.list('a\0b'), [])
  t.equal(await sessions.revoke({ sid: '\ud83e' }), 0)
})

t.test('a session that began over a Unix socket has an empty address', async (t) => {
  const { app } = await setting(t)
  const folder = mkdtempSync(path.join(tmpdir(), 'socket-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const socketPath = path.join(folder, 's')
  await app.listen({ path: socketPath })
  const headers = { 'content-type': 'application/json' }
  const login = request({ socketPath, path: '/login', method: 'POST', headers, agent: false })
  login.end(JSON.stringify({ username: 'alice', password: passwords.alice }))
  const [response] = (await once(login, 'response')) as [IncomingMessage]
  response.resume()
  t.equal(response.statusCode, 200)
  t.match(await app.authn.sessions.list('alice'), [{ address: '' }])
})

t.test('wrong refresh tokens get a 429, then good ones do too, but logins do not', async (t) => {
  const redis = new FakeRedis()
  for (const more of [{}, { redis, keyPrefix: 'test' }]) {
    const throttle = { perUsername: 3, perAddress: 5, window: 60, ...more }
    const store = breakable(memorySessions())
    const { app, login, refresh, post, me } = await setting(
      t,
      { store: store.factory },
      { throttle },
    )
    let good = await login()
    for (let turn = 0; turn < 3; turn += 1) t.equal((await refresh('garbage')).statusCode, 401)
    t.equal((await refresh('garbage')).statusCode, 429, 'the same string')
    const other = await refresh('other garbage')
    t.equal(other.statusCode, 401, 'another string')
    for (let turn = 0; turn < 5; turn += 1) await post('/logout', { refreshToken: `x${turn}` })
    const answer = await refresh('new garbage')
    t.equal(answer.statusCode, 429, 'the address')
    t.ok(Number(answer.headers['retry-after']) > 0)
    t.equal((await post('/logout', undefined, bearer('a.b.c'))).statusCode, 429)
    t.equal((await post('/logout')).statusCode, 401, 'a missing token is not counted')

    const asked = store.calls.length
    t.equal((await refresh(good.refreshToken)).statusCode, 429, 'not looked up')
    t.equal((await post('/logout', { refreshToken: good.refreshToken })).statusCode, 429)
    t.equal((await refresh(newRefreshToken().text)).statusCode, 429, 'a forged one')
    t.equal(store.calls.length, asked, 'the store is not asked')
    const remoteAddress = '192.0.2.9'
    const payload = { refreshToken: good.refreshToken }
    const elsewhere = { method: 'POST', url: '/login/refresh', remoteAddress, payload } as const
    t.equal((await app.inject(elsewhere)).statusCode, 200, 'another address')
    good = await login()
    t.equal((await post('/logout', undefined, bearer(good.token))).statusCode, 204)
    t.equal(await me(good.token), 401)
  }
})

t.test('a refresh token is compared as it is, and everywhere needs a session', async (t) => {
  const { post, login } = await setting(t)
  const { refreshToken } = await login()
  for (const [url, body, status] of [
    ['/login/refresh', { refreshToken: `${refreshToken}=` }, 401],
    ['/login/refresh', { refreshToken: ` ${refreshToken}` }, 401],
    ['/logout', { everywhere: true }, 401],
    ['/login/refresh', { refreshToken }, 200],
  ] as const)
    t.equal((await post(url, body)).statusCode, status, `${url} ${JSON.stringify(body)}`)
})

t.test('the log contains no token, and no part of one', async (t) => {
  const { lines, stream } = logLines()
  const { factory, advance } = heldStore()
  const app = await sessionApp(t, { sessions: { store: factory } }, undefined, {
    logger: { stream, level: 'trace' },
  })
  const { login, refresh, post } = clientOf(app)
  const first = await login()
  const second = pairOf(await refresh(first.refreshToken))
  await post('/logout', { refreshToken: 'garbage-garbage' })
  advance(20)
  await refresh(first.refreshToken)
  await refresh(second.refreshToken)
  const text = JSON.stringify(lines)
  t.match(text, 'ERR_AUTH_REFRESH_REUSED')
  for (const secret of [first, second].flatMap((each) => [each.token, each.refreshToken])) {
    // The first 22 letters of a refresh token are the handle of its session.
    t.notMatch(text, secret.slice(0, 22))
  }
  t.notMatch(text, 'garbage')
})
