// program: requests
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { features } from '../../lib/feature-table.js'
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
import type { AnyResponse } from '../helpers/flows.js'
import { hashAtOnce, login, until, watchBcrypt } from '../helpers/load.js'

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

/** An app, its log, and `request.user` of the requests that came to their handler. */
async function setting(t: Test, more: AuthnOptions = {}) {
  const { lines, stream } = logLines()
  const seen: unknown[] = []
  const key = {
    authenticate(): never {
      throw new AuthenticationError('This key was revoked.', { cause: 'revoked' })
    },
  }
  const options = { userService: userService(), jwt: { secret }, authenticators: { key }, ...more }
  const app = await appWith(
    t,
    options,
    (app) => {
      const uses = { jwt: 'jwt', basic: 'basic', both: ['jwt', 'basic'], key: 'key' }
      const handler = ({ user }: FastifyRequest): string => {
        seen.push(user)
        return 'ok'
      }
      for (const [url, use] of Object.entries(uses)) {
        app.get(`/${url}`, { config: { auth: { use } } }, handler)
      }
      app.get('/try', { config: { auth: { mode: 'try', use: 'basic' } } }, handler)
      app.get('/open', handler)
    },
    { logger: { level: 'info', stream } },
  )
  /** Level, code and authenticator of each line about a rejection since the last call, and its reason, if any. */
  const rejections = (): unknown[] =>
    lines
      .splice(0)
      .filter(({ msg }) => msg === 'Request rejected')
      .map(({ level, code, authenticator, reason, reqId }) => ({
        level,
        code,
        authenticator,
        ...(reason !== undefined && { reason }),
        ...(typeof reqId !== 'string' && { reqId }),
      }))
  /** A request by Basic, or a login. */
  const enter = (url: string, name: string, password: string): Promise<AnyResponse> =>
    url === '/login'
      ? login(app, name, password)
      : app.inject({ url, headers: basic(name, password) })
  return { app, lines, rejections, seen, enter }
}

const alice = basic('alice', passwords.alice)

/** The one event since the last call, without what differs from run to run. */
function theOnly(t: Test, events: Event[], url: string): object {
  const taken = events.splice(0)
  t.equal(taken.length, 1, 'one event')
  const { name, code, authenticator, user, keys, request, duration } = taken[0] as Event
  t.equal(request.url, url, 'with the request')
  t.ok(typeof duration === 'number' && duration >= 0, 'and its duration')
  return { name, authenticator, ...(code && { code }), ...(user && { user: user.name }), keys }
}

const successKeys = ['accepts', 'authenticator', 'duration', 'registration', 'request', 'user']
const rejectionKeys = ['accepts', 'authenticator', 'code', 'duration', 'registration', 'request']

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
    const success = { name: 'success', authenticator, user: 'alice', keys: successKeys }
    t.strictSame(theOnly(t, events, url), success)
  }
  t.equal((await login(app, 'alice', passwords.alice)).statusCode, 200)
  t.notMatch(events[0]?.user, { password: /./ })
  const keys = ['accepts', 'amr', ...successKeys.slice(1)]
  const entered = { name: 'login', authenticator: 'login', user: 'alice', keys }
  t.strictSame(theOnly(t, events, '/login'), entered)
  t.strictSame(rejections(), [])
})

t.test('every 401 is a failure event with its code, and one line at level info', async (t) => {
  const events = collect(t)
  const { app, lines, rejections } = await setting(t)
  const expired = app.jwtService.generateTokenWithClaims({ sub: 'alice', nbf: 1, exp: 2 })
  const rows: [url: string, headers: Record<string, string>, code: string, reason?: unknown][] = [
    ['/jwt', {}, 'ERR_AUTH_NO_CREDENTIALS'],
    ['/jwt', bearer('a.b.c'), 'ERR_AUTH_JWT_INVALID', String],
    ['/jwt', bearer(expired), 'ERR_AUTH_JWT_EXPIRED'],
    ['/basic', { authorization: 'Basic !' }, 'ERR_AUTH_MALFORMED_CREDENTIALS'],
    ['/basic', basic('alice', 'wrong'), 'ERR_AUTH_INVALID_CREDENTIALS'],
    ['/both', basic('alice', 'wrong'), 'ERR_AUTH_INVALID_CREDENTIALS'],
    ['/key', {}, 'ERR_AUTH_REFUSED', 'revoked'],
    ['/login', {}, 'ERR_AUTH_INVALID_CREDENTIALS'],
  ]
  for (const [url, headers, code, reason] of rows) {
    const isLogin = url === '/login'
    const response = await (isLogin ? login(app, 'alice', 'wrong') : app.inject({ url, headers }))
    t.equal(response.statusCode, 401)
    const authenticator = url === '/both' ? 'basic' : url.slice(1)
    const keys = [...rejectionKeys, ...(reason === undefined ? [] : ['reason'])].toSorted()
    t.strictSame(theOnly(t, events, url), { name: 'failure', authenticator, code, keys })
    t.notMatch(JSON.stringify(lines), /wrong|a\.b\.c|WxpY/, 'no credentials in it')
    const found = rejections()
    t.equal(found.length, 1, 'one line')
    const more = reason === undefined ? {} : { reason }
    t.match(found[0], { level: 30, code, authenticator, ...more })
    t.equal('reason' in (found[0] as object), reason !== undefined)
  }
})

t.test('every 429 is a throttled event, and one line at level warn', async (t) => {
  const events = collect(t)
  const { app, enter, rejections } = await setting(t, { throttle: { perUsername: 1 } })
  t.equal((await login(app, 'alice', 'wrong')).statusCode, 401)
  events.length = 0
  rejections()
  const code = 'ERR_AUTH_TOO_MANY_ATTEMPTS'
  for (const url of ['/login', '/basic', '/try']) {
    t.equal((await enter(url, 'alice', passwords.alice)).statusCode, 429)
    const authenticator = url === '/login' ? 'login' : 'basic'
    const event = { name: 'throttled', authenticator, code, keys: rejectionKeys }
    t.strictSame(theOnly(t, events, url), event)
    t.strictSame(rejections(), [{ level: 40, code, authenticator }])
  }
  t.equal(app.authn.stats().throttled, 3)
})

t.test('a full queue and a slow user service give overloaded events', async (t) => {
  const events = collect(t)
  const watch = watchBcrypt(t, true)
  hashAtOnce(t, 1)
  const good = userService()
  const { app, enter, rejections } = await setting(t, {
    hashing: { cost, maxQueue: 0 },
    userServiceTimeout: 0.02,
    userService: {
      findByUsername: (name, request) =>
        name === 'slow' ? new Promise(() => undefined) : good.findByUsername(name, request),
    },
  })
  const first = login(app, 'bob', passwords.bob)
  await until(() => watch.running.length === 1, 'one runs')
  for (const url of ['/login', '/basic']) {
    for (const [name, code] of [
      ['alice', 'ERR_AUTH_OVERLOADED'],
      ['slow', 'ERR_AUTH_USER_SERVICE_TIMEOUT'],
    ] as const) {
      t.equal((await enter(url, name, passwords.alice)).statusCode, 503)
      const authenticator = url.slice(1)
      const event = { name: 'overloaded', authenticator, code, keys: rejectionKeys }
      t.strictSame(theOnly(t, events, url), event)
      t.strictSame(rejections(), [{ level: 40, code, authenticator }])
    }
  }
  t.equal(app.authn.stats().hashing.rejected, 2)
  watch.hold(false)
  t.equal((await first).statusCode, 200)
})

t.test('no event is published for anonymous requests and internal errors', async (t) => {
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
  const away = { findByUsername: () => Promise.reject(new Error('database is away')) }
  const broken = await setting(t, { userService: away })
  for (const url of ['/basic', '/login']) {
    t.equal((await broken.enter(url, 'alice', passwords.alice)).statusCode, 500)
    t.equal(broken.lines.filter(({ level }) => level === 50).length, 1, 'one error in the log')
    t.strictSame([events, broken.rejections()], [[], []], url)
  }
})

t.test('stats are zero before the first request, and then count', async (t) => {
  const { app } = await setting(t, { throttle: { perUsername: 1 } })
  const hashing = { running: 0, waiting: 0, rejected: 0, memory: 0, replaced: 0 }
  const rows = Object.entries(features).filter(([, { noStats }]) => noStats !== undefined)
  const off = Object.fromEntries(rows.map(([name, { noStats }]) => [name, noStats]))
  t.strictSame(off.issuers, {})
  t.strictSame(app.authn.stats(), {
    hashing,
    credentials: { hits: 0, misses: 0, size: 0 },
    tokens: { size: 0, bytes: 0, hits: 0, misses: 0 },
    keys: { size: 1, reloads: 0, failures: 0 },
    throttled: 0,
    ...off,
  })
  const token = bearer(app.jwtService.generateToken('alice'))
  for (const headers of [token, {}]) await app.inject({ url: '/jwt', headers })
  for (const headers of [alice, basic('alice', 'wrong'), basic('alice', 'wrong')]) {
    await app.inject({ url: '/basic', headers })
  }
  for (const password of [passwords.bob, 'wrong', passwords.bob]) await login(app, 'bob', password)
  const { tokens, keys: _, ...others } = app.authn.stats()
  const credentials = { hits: 0, misses: 2, size: 1 }
  t.strictSame(others, { hashing, credentials, throttled: 2, ...off })
  t.match(tokens, { size: 1, hits: 0, misses: 1 })
  await app.inject({ url: '/basic', remoteAddress: '192.0.2.1', headers: alice })
  const before = app.authn.stats()
  t.strictSame(before.credentials, { hits: 1, misses: 2, size: 1 })
  await app.inject({ url: '/basic', remoteAddress: '192.0.2.1', headers: alice })
  t.strictSame(before.credentials.hits, 1, 'what was read does not change')
})
