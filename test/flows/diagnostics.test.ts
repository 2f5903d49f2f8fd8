import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { AuthenticationError, type AuthnOptions } from '../../lib/index.js'
import {
  appWith,
  basic,
  bearer,
  cost,
  logLines,
  passwords,
  secret,
  userService,
} from '../helpers/app.js'
import { login, until, watchBcrypt } from '../helpers/load.js'

const names = ['success', 'failure', 'login', 'throttled', 'overloaded'] as const

interface Event {
  readonly name: string
  readonly request: FastifyRequest
  readonly user?: { name?: unknown }
  readonly code?: string
  readonly authenticator: string
  readonly duration: number | null
  readonly keys: string[]
}

/** Collects the events of all channels until the test ends. */
function collect(t: Test): Event[] {
  const events: Event[] = []
  for (const name of names) {
    const listener = (message: unknown): void => {
      const keys = Object.keys(message as object).sort()
      events.push({ name, ...(message as Omit<Event, 'name' | 'keys'>), keys })
    }
    subscribe(`fastify-authn:${name}`, listener)
    t.teardown(() => unsubscribe(`fastify-authn:${name}`, listener))
  }
  return events
}

interface Setting {
  readonly app: FastifyInstance
  readonly lines: Record<string, unknown>[]
  /** What was logged of rejections: level, code, authenticator and reason. */
  readonly rejections: () => unknown[]
  /** `request.user` of the requests that came to their handler. */
  readonly seen: unknown[]
}

async function setting(t: Test, more: AuthnOptions = {}): Promise<Setting> {
  const { lines, stream } = logLines()
  const seen: unknown[] = []
  const handler = (request: FastifyRequest): string => {
    seen.push(request.user)
    return 'ok'
  }
  const app = await appWith(
    t,
    {
      userService: userService(),
      jwt: { secret },
      hashing: { cost },
      authenticators: {
        key: {
          authenticate() {
            throw new AuthenticationError('This key was revoked.', { cause: 'revoked' })
          },
        },
      },
      ...more,
    },
    (app) => {
      app.get('/jwt', { config: { auth: { use: 'jwt' } } }, handler)
      app.get('/basic', { config: { auth: { use: 'basic' } } }, handler)
      app.get('/both', { config: { auth: { use: ['jwt', 'basic'] } } }, handler)
      app.get('/try', { config: { auth: { mode: 'try', use: 'basic' } } }, handler)
      app.get('/key', { config: { auth: { use: 'key' } } }, handler)
      app.get('/open', handler)
    },
    { logger: { level: 'info', stream } },
  )
  return {
    app,
    lines,
    seen,
    rejections: () =>
      lines
        .filter(({ msg }) => msg === 'Request rejected')
        .map(({ level, code, authenticator, reason, reqId }) => ({
          level,
          code,
          authenticator,
          ...(reason !== undefined && { reason }),
          ...(typeof reqId !== 'string' && { reqId }),
        })),
  }
}

const alice = basic('alice', passwords.alice)

/** The one event there was, without what differs from run to run. */
function theOnly(t: Test, events: Event[], url: string): object {
  const taken = events.splice(0)
  t.equal(taken.length, 1, 'one event')
  const [event] = taken
  t.equal(event?.request.url, url, 'with the request')
  t.ok(typeof event?.duration === 'number' && event.duration >= 0, 'and its duration')
  const { name, code, authenticator, user, keys } = event as Event
  return { name, authenticator, ...(code && { code }), ...(user && { user: user.name }), keys }
}

const successKeys = ['accepts', 'authenticator', 'duration', 'request', 'user']
const rejectionKeys = ['accepts', 'authenticator', 'code', 'duration', 'request']

t.test('success and login events have the user that handlers see', async (t) => {
  const events = collect(t)
  const { app, seen, rejections } = await setting(t)
  const token = bearer(app.jwtService.generateToken('alice'))
  for (const [url, headers, authenticator] of [
    ['/jwt', token, 'jwt'],
    ['/basic', alice, 'basic'],
    ['/basic', alice, 'basic'],
    ['/both', token, 'jwt'],
    ['/both', alice, 'basic'],
  ] as const) {
    t.equal((await app.inject({ url, headers })).statusCode, 200)
    t.equal(events[0]?.user, seen.pop(), 'the same object')
    t.notMatch(events[0]?.user, { password: /./ })
    t.strictSame(theOnly(t, events, url), {
      name: 'success',
      authenticator,
      user: 'alice',
      keys: successKeys,
    })
  }
  t.equal((await login(app, 'alice', passwords.alice)).statusCode, 200)
  t.notMatch(events[0]?.user, { password: /./ })
  t.strictSame(theOnly(t, events, '/login'), {
    name: 'login',
    authenticator: 'login',
    user: 'alice',
    keys: successKeys,
  })
  t.strictSame(rejections(), [])
})

t.test('every 401 is a failure event with its code, and one line at level info', async (t) => {
  const events = collect(t)
  const { app, lines, rejections } = await setting(t)
  const expired = app.jwtService.generateTokenWithClaims({ sub: 'alice', nbf: 1, exp: 2 })
  const rows: [url: string, headers: Record<string, string>, code: string, more?: object][] = [
    ['/jwt', {}, 'ERR_AUTH_NO_CREDENTIALS'],
    ['/jwt', bearer('a.b.c'), 'ERR_AUTH_JWT_INVALID', { reason: String }],
    ['/jwt', bearer(expired), 'ERR_AUTH_JWT_EXPIRED'],
    ['/basic', {}, 'ERR_AUTH_NO_CREDENTIALS'],
    ['/basic', { authorization: 'Basic !' }, 'ERR_AUTH_MALFORMED_CREDENTIALS'],
    ['/basic', basic('alice', 'wrong'), 'ERR_AUTH_INVALID_CREDENTIALS'],
    ['/basic', basic('nobody', 'wrong'), 'ERR_AUTH_INVALID_CREDENTIALS'],
    ['/both', basic('alice', 'wrong'), 'ERR_AUTH_INVALID_CREDENTIALS'],
    ['/key', {}, 'ERR_AUTH_REFUSED', { reason: 'revoked' }],
  ]
  for (const [url, headers, code, more] of rows) {
    lines.length = 0
    t.equal((await app.inject({ url, headers })).statusCode, 401)
    const authenticator = url === '/both' ? 'basic' : url.slice(1)
    t.strictSame(theOnly(t, events, url), {
      name: 'failure',
      authenticator,
      code,
      keys: [...rejectionKeys, ...Object.keys(more ?? {})].toSorted(),
    })
    t.equal(rejections().length, 1, 'one line')
    t.match(rejections()[0], { level: 30, code, authenticator, ...more })
    t.notMatch(JSON.stringify(lines), /wrong|a\.b\.c|WxpY/, 'no credentials in it')
  }
  lines.length = 0
  t.equal((await login(app, 'alice', 'wrong')).statusCode, 401)
  t.strictSame(theOnly(t, events, '/login'), {
    name: 'failure',
    authenticator: 'login',
    code: 'ERR_AUTH_INVALID_CREDENTIALS',
    keys: rejectionKeys,
  })
  t.strictSame(rejections(), [
    { level: 30, code: 'ERR_AUTH_INVALID_CREDENTIALS', authenticator: 'login' },
  ])
})

t.test('every 429 is a throttled event, and one line at level warn', async (t) => {
  const events = collect(t)
  const { app, lines, rejections } = await setting(t, { throttle: { perUsername: 1 } })
  t.equal((await login(app, 'alice', 'wrong')).statusCode, 401)
  events.length = 0
  lines.length = 0
  for (const url of ['/login', '/basic', '/try']) {
    const { statusCode } =
      url === '/login'
        ? await login(app, 'alice', passwords.alice)
        : await app.inject({ url, headers: alice })
    t.equal(statusCode, 429)
    const authenticator = url === '/login' ? 'login' : 'basic'
    t.strictSame(theOnly(t, events, url), {
      name: 'throttled',
      authenticator,
      code: 'ERR_AUTH_TOO_MANY_ATTEMPTS',
      keys: rejectionKeys,
    })
    t.strictSame(rejections(), [{ level: 40, code: 'ERR_AUTH_TOO_MANY_ATTEMPTS', authenticator }])
    lines.length = 0
  }
  t.equal(app.authn.stats().throttled, 3)
})

t.test('a full queue and a slow user service give overloaded events', async (t) => {
  const events = collect(t)
  const watch = watchBcrypt(t, true)
  const good = userService()
  const { app, rejections } = await setting(t, {
    hashing: { cost, concurrency: 1, maxQueue: 0 },
    userServiceTimeout: 0.02,
    userService: {
      findByUsername: (name, request) =>
        name === 'slow' ? new Promise(() => undefined) : good.findByUsername(name, request),
    },
  })
  const first = login(app, 'bob', passwords.bob)
  await until(() => watch.running.length === 1, 'one runs')
  for (const [url, name, code] of [
    ['/login', 'alice', 'ERR_AUTH_OVERLOADED'],
    ['/basic', 'alice', 'ERR_AUTH_OVERLOADED'],
    ['/login', 'slow', 'ERR_AUTH_USER_SERVICE_TIMEOUT'],
    ['/basic', 'slow', 'ERR_AUTH_USER_SERVICE_TIMEOUT'],
  ] as const) {
    const { statusCode } =
      url === '/login'
        ? await login(app, name, passwords.alice)
        : await app.inject({ url, headers: basic(name, passwords.alice) })
    t.equal(statusCode, 503)
    const authenticator = url.slice(1)
    t.strictSame(theOnly(t, events, url), {
      name: 'overloaded',
      authenticator,
      code,
      keys: rejectionKeys,
    })
    t.strictSame(rejections().at(-1), { level: 40, code, authenticator })
  }
  t.equal(rejections().length, 4)
  t.equal(app.authn.stats().hashing.refused, 2)
  watch.hold(false)
  t.equal((await first).statusCode, 200)
})

t.test('anonymous requests that pass give no events', async (t) => {
  const events = collect(t)
  const { app, rejections } = await setting(t)
  for (const [url, headers] of [
    ['/open', alice],
    ['/try', {}],
    ['/try', basic('alice', 'wrong')],
    ['/nowhere', alice],
  ] as const) {
    await app.inject({ url, headers })
    t.strictSame([events, rejections()], [[], []], url)
  }
})

t.test('a user service that fails gives errors in the log, and no events', async (t) => {
  const events = collect(t)
  const { app, lines, rejections } = await setting(t, {
    userService: {
      findByUsername() {
        throw new Error('database is away')
      },
    },
  })
  t.equal((await app.inject({ url: '/basic', headers: alice })).statusCode, 500)
  t.equal((await login(app, 'alice', passwords.alice)).statusCode, 500)
  t.strictSame([events, rejections()], [[], []])
  t.equal(lines.filter(({ level }) => level === 50).length, 2)
})

/** Every kind of request once. */
async function everything(app: FastifyInstance): Promise<void> {
  await app.inject({ url: '/jwt', headers: bearer(app.jwtService.generateToken('alice')) })
  await app.inject({ url: '/jwt' })
  await app.inject({ url: '/basic', headers: alice })
  await app.inject({ url: '/basic', headers: basic('alice', 'wrong') })
  await app.inject({ url: '/basic', headers: basic('alice', 'wrong') })
  await login(app, 'bob', passwords.bob)
  await login(app, 'bob', 'wrong')
  await login(app, 'bob', passwords.bob)
}

t.test('without subscribers no clock is read and nothing is published', async (t) => {
  const { app, rejections } = await setting(t, { throttle: { perUsername: 1 } })
  const published = names.map((name) => t.capture(channel(`fastify-authn:${name}`), 'publish'))
  const { now } = performance
  let readings = 0
  t.intercept(performance, 'now', {
    value: () => {
      if (/lib.events\./.test(String(new Error('who reads it').stack))) readings += 1
      return now.call(performance)
    },
    configurable: true,
  })
  await everything(app)
  t.strictSame([readings, ...published.map((calls) => calls().length)], [0, 0, 0, 0, 0, 0])
  t.equal(rejections().length, 5, 'though there were rejections')
  collect(t)
  await everything(app)
  t.ok(readings > 0, 'with subscribers it would have been seen')
})

t.test('stats are zero before the first request, and then count', async (t) => {
  const { app } = await setting(t, { throttle: { perUsername: 1 } })
  const hashing = { running: 0, waiting: 0, refused: 0 }
  t.strictSame(app.authn.stats(), {
    hashing,
    credentials: { hits: 0, misses: 0, size: 0 },
    tokens: { size: 0, bytes: 0, hits: 0, misses: 0 },
    keys: { size: 1, reloads: 0, failures: 0 },
    issuers: {},
    throttled: 0,
  })
  await everything(app)
  const { tokens, keys: _, issuers: __, ...others } = app.authn.stats()
  t.strictSame(others, { hashing, credentials: { hits: 0, misses: 2, size: 1 }, throttled: 2 })
  t.match(tokens, { size: 1, hits: 0, misses: 1 })
  await app.inject({ url: '/basic', remoteAddress: '192.0.2.1', headers: alice })
  const before = app.authn.stats()
  t.strictSame(before.credentials, { hits: 1, misses: 2, size: 1 })
  await app.inject({ url: '/basic', remoteAddress: '192.0.2.1', headers: alice })
  t.strictSame(before.credentials.hits, 1, 'what was read does not change')
})
