import { randomBytes } from 'node:crypto'
import Fastify from 'fastify'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { authn } from '../../lib/index.js'
import { memorySessions, redisSessions } from '../../lib/sessions/index.js'
import { Revocations } from '../../lib/sessions/revocations.js'
import { setNodeEnv } from '../helpers/environment.js'
import { type TestApp, logLines, secret, standardOptions, userService } from '../helpers/app.js'
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
} from '../helpers/sessions.js'

const unavailable = { status: 503, error: busy, challenge: null }

/** The clock by which ends are kept, in seconds. */
function holdClock(t: Test): { now: number } {
  const clock = { now: 1000 }
  t.intercept(performance, 'now', { value: () => clock.now * 1000 })
  return clock
}

t.test('a revocation is kept until it expires, whichever way it was told', async (t) => {
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

t.test('a store that is away lets nobody in and logs nobody out', async (t) => {
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
  t.match(await rejectionOf(sessions.list('alice')), {
    code: 'ERR_AUTH_STORE_UNAVAILABLE',
  })
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

t.test('a store that does not answer is waited for five seconds', async (t) => {
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

t.test('a swap has a deadline, which a user service that is slow does not shorten', async (t) => {
  const { factory } = heldStore()
  const deadlines: number[] = []
  const noting = {
    ...factory,
    open(name: string) {
      const store = factory.open(name)
      return {
        ...store,
        swap(swap: Parameters<typeof store.swap>[0]) {
          deadlines.push(swap.deadline)
          return store.swap(swap)
        },
      }
    },
  }
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

t.test('a swap that came too late, and what nobody can open, are 503, not a theft', async (t) => {
  const { factory } = heldStore()
  let outcome: unknown = { outcome: 'late' }
  const odd = {
    ...factory,
    open: (name: string) => ({ ...factory.open(name), swap: async () => outcome as never }),
  }
  const app = await sessionApp(t, { sessions: { store: odd } })
  const { login, refresh, me } = clientOf(app)
  const { token, refreshToken } = await login()
  isRejection(t, await refresh(refreshToken), unavailable)
  outcome = { outcome: 'repeated', session: {}, sealed: 'x', now: 0 }
  isRejection(t, await refresh(refreshToken), unavailable)
  t.equal(await me(token), 200)
})

t.test('a session that is revoked here is not refreshed, whatever the store says', async (t) => {
  const { factory } = heldStore()
  const forgetful = {
    ...factory,
    open: (name: string) => ({ ...factory.open(name), revoke: async () => [] }),
  }
  const app = await sessionApp(t, { sessions: { store: forgetful } })
  const { login, refresh, me, post } = clientOf(app)
  const { token, refreshToken } = await login()
  t.equal((await post('/logout', { refreshToken })).statusCode, 204)
  t.equal((await refresh(refreshToken)).statusCode, 401)
  t.equal(await me(token), 401)
  t.strictSame(await app.authn.sessions.list('alice'), [])
})

t.test(
  'a process that does not know yet what is revoked answers 503, and the boot waits',
  async (t) => {
    const store = breakable(heldStore().factory)
    store.failure = new Error('away')
    const app = await sessionApp(t, { sessions: { store: store.factory } })
    const { me } = clientOf(app)
    const token = app.jwtService.generateTokenWithClaims({ sub: 'alice', sid: 'some' })
    t.equal(await me(token), 503)
    t.equal(await me(app.jwtService.generateToken('alice')), 200, 'a token of no session')
    store.watchers[0]?.caughtUp()
    t.equal(await me(token), 200)
  },
)

t.test('only tokens of a registration with sessions are checked for revocation', async (t) => {
  const app = await sessionApp(t, { sessions: false })
  const token = app.jwtService.generateTokenWithClaims({ sub: 'alice', sid: 'some' })
  t.equal(await clientOf(app).me(token), 200)
})

t.test('boot', async (t) => {
  const base = standardOptions()
  const store = memorySessions()
  type Wrong = [title: string, options: object, message: RegExp]
  const wrong: Wrong[] = [
    ['idle', { sessions: { lifetime: 100, idle: 101 } }, /"sessions.idle": found 101 s/],
    ['grace', { sessions: { grace: 61 } }, /"sessions.grace": found 61, expected seconds, 0 to 60/],
    [
      'maxPerUser',
      { sessions: { maxPerUser: 0 } },
      /"sessions.maxPerUser": found 0, expected a whole number from 1/,
    ],
    ['milliseconds', { sessions: { lifetime: 2_592_000_000 } }, /"sessions.lifetime"/],
    ['unknown', { sessions: { ttl: 5 } }, /unknown option "sessions.ttl"/],
    ['name', { sessions: { name: 'a:b' } }, /"sessions.name": found "a:b"/],
    ...[
      { get() {} },
      { evalsha() {}, eval() {}, duplicate() {} },
      new Pool(),
      redisSessions,
      memorySessions,
      'redis://localhost',
      null,
    ].map((store): Wrong => [
      `store: ${typeof store}`,
      { sessions: { store } },
      /"sessions.store": found .*redisSessions\(redis, \{ prefix: 'shop' \}\)/,
    ]),
    ['text', { sessions: 'memory' }, /"sessions": found an invalid string/],
    ['no keys', { sessions: true, jwt: undefined }, /"jwt" is missing/],
    ['tokenFunc', { sessions: true, login: { tokenFunc: () => 'x' } }, /login.claims/],
    ['no key that signs', { sessions: true, login: { signingMethod: 'ES256' } }, /key that signs/],
  ]
  for (const [title, options, message] of wrong) {
    const error = await rejectionOf(sessionApp(t, options))
    t.match(error, { code: 'ERR_AUTH_OPTION', message }, title)
  }
  t.test('two registrations', async (t) => {
    const second = (options: object) => (app: TestApp) =>
      app.register(
        async (inner) => {
          await inner.register(authn, {
            userService: base.userService,
            jwt: { secret, audience: 'admin' },
            ...options,
          })
        },
        { prefix: '/admin' },
      )
    for (const options of [{ sessions: true }, { sessions: { store } }]) {
      const error = await rejectionOf(
        sessionApp(t, { jwt: { secret, audience: 'shop' }, ...options }, second(options)),
      )
      t.match(error, { code: 'ERR_AUTH_OPTION', message: /"sessions.name": found "default"/ })
    }
    const app = await sessionApp(
      t,
      { jwt: { secret, audience: 'shop' }, sessions: { store } },
      second({ sessions: { store, name: 'admin' } }),
    )
    const { login, post } = clientOf(app)
    const { refreshToken } = await login()
    t.equal((await post('/admin/login/refresh', { refreshToken })).statusCode, 401)
    t.equal((await post('/login/refresh', { refreshToken })).statusCode, 200)
  })
  t.test(
    'a registration that takes tokens of sessions without knowing which are revoked',
    async (t) => {
      for (const [inner, isWarned] of [
        [{ jwt: { secret } }, true],
        [{ jwt: { secret }, sessions: { name: 'other' } }, true],
        [{ jwt: { secret, audience: 'admin' } }, false],
      ] as const) {
        const { lines, stream } = logLines()
        await sessionApp(
          t,
          { userService: base.userService, jwt: { secret, audience: 'shop' } },
          (app) =>
            app.register(
              async (scope) => {
                await scope.register(authn, { userService: base.userService, ...inner })
              },
              { prefix: '/inner' },
            ),
          { logger: { stream } },
        )
        t.equal(
          lines.some(({ msg }) => String(msg).includes('revoked sessions')),
          isWarned,
        )
      }
    },
  )
  t.test('a second registration whose login route would be that of the first', async (t) => {
    const second = (app: TestApp): unknown =>
      app.register(async (scope) => {
        await scope.register(authn, { ...base, sessions: { name: 'second' } })
      })
    const error = await rejectionOf(
      sessionApp(t, { userService: base.userService, sessions: false }, second),
    )
    t.match(error, { code: 'ERR_AUTH_OPTION', message: /POST \/login is already declared/ })
  })
  t.test('a warning in production', async (t) => {
    const { lines, stream } = logLines()
    setNodeEnv(t, 'production')
    const server = { logger: { stream } }
    const random = randomBytes(64).toString('base64url')
    await sessionApp(t, { jwt: { secret: random } }, undefined, server)
    const told = lines.filter(({ level }) => level === 40).map(({ msg }) => String(msg))
    t.match(told, [/memory of this process/])
  })
  t.test('a process that only verifies', async (t) => {
    const { factory } = heldStore()
    const issuer = await sessionApp(t, { sessions: { store: factory } })
    const app = await sessionApp(t, { sessions: { store: factory }, login: false })
    const { token } = await clientOf(issuer).login()
    t.equal(await clientOf(app).me(token), 200)
    t.equal((await clientOf(app).post('/logout')).statusCode, 404)
    await app.authn.sessions.revoke({ sid: claimsOf(token).sid as string })
    t.equal(await clientOf(app).me(token), 401)
    isRejection(
      t,
      await issuer.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } }),
      { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') },
    )
  })
  t.test('paths', async (t) => {
    for (const [path, refresh, logout] of [
      ['/auth/login', '/auth/login/refresh', '/auth/logout'],
      ['/', '/refresh', '/logout'],
      ['/session/', '/session/refresh', '/logout'],
    ] as const) {
      const app = await sessionApp(t, { login: { path } })
      t.ok(app.hasRoute({ method: 'POST', url: refresh }), refresh)
      t.ok(app.hasRoute({ method: 'POST', url: logout }), logout)
    }
    const app = Fastify()
    t.teardown(() => app.close())
    app.post('/logout', () => 'mine')
    const taken = await rejectionOf(app.register(authn, { ...standardOptions(), sessions: true }))
    t.match(taken, { code: 'ERR_AUTH_OPTION', message: /POST \/logout is already declared/ })
  })
})
