import { randomBytes } from 'node:crypto'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { authn } from '../../lib/index.js'
import { memorySessions, redisSessions } from '../../lib/sessions/index.js'
import { Revocations } from '../../lib/sessions/revocations.js'
import { setNodeEnv } from '../helpers/environment.js'
import { bearer, logLines, secret, standardOptions, userService } from '../helpers/app.js'
import type { TestApp } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { isRejection, messages, tokenChallenge } from '../helpers/flows.js'
import { busy } from '../helpers/load.js'
import {
  breakable,
  claimsOf,
  clientOf,
  heldStore,
  pairOf,
  sessionApp,
  storeWith,
} from '../helpers/sessions.js'

const unavailable = { status: 503, error: busy, challenge: null }

/** The clock by which revocations are kept, in seconds. */
function holdClock(t: Test): { now: number } {
  const clock = { now: 1000 }
  t.intercept(performance, 'now', { value: () => clock.now * 1000 })
  return clock
}

t.test('a revocation is kept until it expires, made here or read from the store', async (t) => {
  const clock = holdClock(t)
  const lost: unknown[] = []
  const revocations = new Revocations((error) => lost.push(error))
  revocations.caughtUp()
  revocations.add('a', 10)
  revocations.revoked(
    [
      { sid: 'b', until: 5020 },
      { sid: 'past', until: 4999 },
      { sid: 'a', until: 5001 },
    ],
    5000,
  )
  t.strictSame(
    [revocations.has('a'), revocations.has('b'), revocations.has('past'), revocations.size],
    [true, true, false, 2],
  )
  clock.now += 9.9
  t.equal(revocations.size, 2, 'a shorter time does not count')
  clock.now += 0.2
  t.strictSame([revocations.size, revocations.has('a'), revocations.has('b')], [1, false, true])
  clock.now += 10
  t.equal(revocations.size, 0)
  revocations.add('for days', 1e6)
  for (let turn = 0; turn < 100; turn += 1) {
    revocations.add(`short ${turn}`, 1)
    clock.now += 1
  }
  const kept = Array.from({ length: 100 }, (_, turn) => revocations.has(`short ${turn}`))
  t.ok(kept.filter(Boolean).length <= 11, 'what came after a long one is dropped too')
  t.equal(revocations.size, 1)
  revocations.lost('why')
  t.strictSame(lost, ['why'])
})

t.test('without its store, an app begins and revokes no session; tokens stay valid', async (t) => {
  const { lines, stream } = logLines()
  const store = breakable(heldStore().factory)
  const app = await sessionApp(t, { sessions: { store: store.factory } }, undefined, {
    logger: { stream },
  })
  const { login, refresh, me, post } = clientOf(app)
  const [first, revoked] = [await login(), await login()]
  await post('/logout', { refreshToken: revoked.refreshToken })
  const before = lines.length
  store.failure = Object.assign(new Error('connection lost'), { detail: 'Key (x)=(secret)' })
  store.watchers[0]?.lost(store.failure)
  for (const answer of [
    await post('/login', { username: 'alice', password: 'wonderland' }),
    await refresh(first.refreshToken),
    await post('/logout', { refreshToken: first.refreshToken }),
    await post('/logout', { everywhere: true }, { authorization: `Bearer ${first.token}` }),
  ]) {
    isRejection(t, answer, unavailable)
    t.equal(answer.headers['retry-after'], '2')
  }
  t.strictSame([await me(first.token), await me(revoked.token)], [200, 401])
  const { sessions } = app.authn
  t.match(await rejectionOf(sessions.list('alice')), { code: 'ERR_AUTH_STORE_UNAVAILABLE' })
  t.match(app.authn.stats().sessions, { storeFailures: 5, isCaughtUp: false })
  const told = lines.slice(before).filter(({ level }) => level === 50)
  t.equal(told.length, 1, 'once a minute')
  t.match(told[0], { reason: 'connection lost' })
  t.notMatch(JSON.stringify(lines), 'secret')

  store.failure = null
  store.watchers[0]?.caughtUp()
  const next = pairOf(await refresh(first.refreshToken))
  t.equal(await me(next.token), 200)
})

t.test('no store is asked for a name that no session can have', async (t) => {
  const store = breakable(heldStore().factory)
  const app = await sessionApp(t, { sessions: { store: store.factory } })
  const { list, revoke } = app.authn.sessions
  for (const name of ['a\0b', '\ud800', 'x'.repeat(1025)]) {
    t.strictSame(
      [await list(name), await revoke({ sub: name }), await revoke({ sid: name })],
      [[], 0, 0],
    )
  }
  t.strictSame(store.calls, [])
})

t.test('a refresh is a 503 if the store does not answer within five seconds', async (t) => {
  const store = breakable(heldStore().factory)
  const app = await sessionApp(t, { sessions: { store: store.factory } })
  const { login, refresh } = clientOf(app)
  const { refreshToken } = await login()
  const timers = t.capture(globalThis, 'setTimeout', ((run: () => void) =>
    setImmediate(run)) as never)
  store.failure = 'never'
  isRejection(t, await refresh(refreshToken), unavailable)
  t.match(timers().at(-1)?.args[1], 5000)
})

t.test('a swap has a deadline, which a slow user service does not shorten', async (t) => {
  const deadlines: number[] = []
  const noting = storeWith((store) => ({
    swap(swap) {
      deadlines.push(swap.deadline)
      return store.swap(swap)
    },
  }))
  for (const [grace, patience] of [
    [10, 5],
    [60, 5],
    [4, 2],
    [0, 5],
  ] as const) {
    const app = await sessionApp(t, {
      sessions: { store: noting, grace, name: `grace-${grace}` },
      userService: {
        findByUsername: async (name) => {
          await new Promise((resolve) => setTimeout(resolve, 20))
          return userService().findByUsername(name, undefined as never)
        },
      },
    })
    const { login, refresh } = clientOf(app)
    pairOf(await refresh((await login()).refreshToken))
    const waited = (deadlines.pop() ?? 0) - 1_800_000_000 - patience
    t.ok(waited > 0.01 && waited < 5, `${grace}: ${waited}`)
  }
})

t.test('a late swap or an unreadable successor is a 503, not a reuse', async (t) => {
  let outcome: unknown = { outcome: 'late' }
  const store = storeWith(() => ({ swap: async () => outcome as never }))
  const app = await sessionApp(t, { sessions: { store } })
  const { login, refresh, me } = clientOf(app)
  const { token, refreshToken } = await login()
  isRejection(t, await refresh(refreshToken), unavailable)
  outcome = { outcome: 'repeated', session: {}, sealed: 'x', now: 0 }
  isRejection(t, await refresh(refreshToken), unavailable)
  t.equal(await me(token), 200)
})

t.test('a session revoked here is not refreshed, even if the store allows it', async (t) => {
  const store = storeWith(() => ({ revoke: async () => [] }))
  const app = await sessionApp(t, { sessions: { store } })
  const { login, refresh, me, post } = clientOf(app)
  const { token, refreshToken } = await login()
  t.equal((await post('/logout', { refreshToken })).statusCode, 204)
  t.equal((await refresh(refreshToken)).statusCode, 401)
  t.equal(await me(token), 401)
  t.strictSame(await app.authn.sessions.list('alice'), [])
})

t.test('tokens of sessions are a 503 until the process has read the revocations', async (t) => {
  const store = breakable(heldStore().factory)
  store.failure = new Error('away')
  const app = await sessionApp(t, { sessions: { store: store.factory } })
  const { me } = clientOf(app)
  const token = app.jwtService.generateTokenWithClaims({ sub: 'alice', sid: 'some' })
  t.equal(await me(token), 503)
  t.equal(await me(app.jwtService.generateToken('alice')), 200, 'a token of no session')
  store.watchers[0]?.caughtUp()
  t.equal(await me(token), 200)
})

t.test('an app without sessions accepts a token with a sid', async (t) => {
  const app = await sessionApp(t, { sessions: false })
  const token = app.jwtService.generateTokenWithClaims({ sub: 'alice', sid: 'some' })
  t.equal(await clientOf(app).me(token), 200)
})

t.test('startup fails for wrong options of sessions, and the error names them', async (t) => {
  type Wrong = [title: string, options: object, message: RegExp]
  const line = /"sessions.store": found .*redisSessions\(redis, \{ prefix: 'shop' \}\)/
  const redis = { evalsha() {}, eval() {}, duplicate() {} }
  const stores = [{ get() {} }, redis, new Pool(), redisSessions, memorySessions, 'redis://x', null]
  const whole = /"sessions.maxPerUser": found 0, expected a whole number from 1/
  const wrong: Wrong[] = [
    ['idle', { sessions: { lifetime: 100, idle: 101 } }, /"sessions.idle": found 101 s/],
    ['grace', { sessions: { grace: 61 } }, /"sessions.grace": found 61, expected seconds, 0 to 60/],
    ['maxPerUser', { sessions: { maxPerUser: 0 } }, whole],
    ['milliseconds', { sessions: { lifetime: 2_592_000_000 } }, /"sessions.lifetime"/],
    ['unknown', { sessions: { ttl: 5 } }, /unknown option "sessions.ttl"/],
    ['name', { sessions: { name: 'a:b' } }, /"sessions.name": found "a:b"/],
    ...stores.map((store): Wrong => [`store: ${typeof store}`, { sessions: { store } }, line]),
    ['a string', { sessions: 'memory' }, /"sessions": found an invalid string/],
    ['no keys', { sessions: true, jwt: undefined }, /"jwt" is missing/],
    ['tokenFunc', { sessions: true, login: { tokenFunc: () => 'x' } }, /login.claims/],
    ['no key that signs', { sessions: true, login: { signingMethod: 'ES256' } }, /key that signs/],
  ]
  for (const [title, options, message] of wrong) {
    const error = await rejectionOf(sessionApp(t, options))
    t.match(error, { code: 'ERR_AUTH_OPTION', message }, title)
  }
})

/** Declares a registration in a scope of its own; its users are those of {@link standardOptions}. */
const inner =
  (options: object, prefix = '/inner') =>
  (app: TestApp): unknown =>
    app.register(
      async (scope) => {
        await scope.register(authn, options)
      },
      { prefix },
    )

t.test('startup fails for two registrations whose sessions have one name', async (t) => {
  const store = memorySessions()
  const { userService } = standardOptions()
  const options = { userService, jwt: { secret, audience: 'inner' } }
  const outer = { userService, jwt: { secret, audience: 'outer' } }
  for (const sessions of [true, { store }]) {
    const second = inner({ ...options, sessions })
    const error = await rejectionOf(sessionApp(t, { ...outer, sessions }, second))
    t.match(error, { code: 'ERR_AUTH_OPTION', message: /"sessions.name": found "default"/ })
  }
  const second = inner({ ...options, sessions: { store, name: 'inner' } })
  const { login, post } = clientOf(await sessionApp(t, { ...outer, sessions: { store } }, second))
  const { refreshToken } = await login()
  t.equal((await post('/inner/login/refresh', { refreshToken })).statusCode, 401)
  t.equal((await post('/login/refresh', { refreshToken })).statusCode, 200)
})

t.test('sessions in memory are a warning in production', async (t) => {
  const { lines, stream } = logLines()
  setNodeEnv(t, 'production')
  const random = randomBytes(64).toString('base64url')
  await sessionApp(t, { jwt: { secret: random } }, undefined, { logger: { stream } })
  const told = lines.filter(({ level }) => level === 40).map(({ msg }) => String(msg))
  t.match(told, [/memory of this process/])
})

t.test('an app without a login accepts tokens of sessions, and rejects revoked ones', async (t) => {
  const { factory } = heldStore()
  const issuer = await sessionApp(t, { sessions: { store: factory } })
  const app = await sessionApp(t, { sessions: { store: factory }, login: false })
  const { token } = await clientOf(issuer).login()
  t.equal(await clientOf(app).me(token), 200)
  t.equal((await clientOf(app).post('/logout')).statusCode, 404)
  await app.authn.sessions.revoke({ sid: claimsOf(token).sid as string })
  t.equal(await clientOf(app).me(token), 401)
  const response = await issuer.inject({ url: '/me', headers: bearer(token) })
  const challenge = tokenChallenge('The token is invalid')
  isRejection(t, response, { error: messages.loggedOut, challenge })
})

t.test('refresh and logout have paths beside that of the login', async (t) => {
  for (const [path, refresh, logout] of [
    ['/auth/login', '/auth/login/refresh', '/auth/logout'],
    ['/', '/refresh', '/logout'],
    ['/session/', '/session/refresh', '/logout'],
  ] as const) {
    const app = await sessionApp(t, { login: { path } })
    t.ok(app.hasRoute({ method: 'POST', url: refresh }), refresh)
    t.ok(app.hasRoute({ method: 'POST', url: logout }), logout)
  }
})
