// app.authn.sessions.begin(): a login after anything but a password.
import type { CreatedSession } from '../../types/sessions.js'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { bearer, logLines, secret, users, userService, type TestApp } from '../helpers/app.js'
import { cookiesOf, linesOf } from '../helpers/cookies.js'
import { deferred, isFault, type AnyResponse } from '../helpers/flows.js'
import { until } from '../helpers/load.js'
import {
  breakable,
  claimsOf,
  clientOf,
  eventsOf,
  heldStore,
  pairOf,
  sessionApp,
  storeWith,
} from '../helpers/sessions.js'

/** A route that logs in the user whom its query names, as a string or as JSON. */
function declareBegin(app: FastifyInstance): void {
  app.post<{ Querystring: { name?: string; json?: string } }>('/begin', (request, reply) => {
    const { name, json } = request.query
    const username = json === undefined ? name : (JSON.parse(json) as string)
    return app.authn.sessions.begin(username as string, request, reply)
  })
}

async function setting(t: Test, options: Partial<AuthnOptions> = {}) {
  const service = userService()
  const { lines, stream } = logLines()
  const store = breakable(heldStore().factory)
  const all = { userService: service, sessions: { store: store.factory }, ...options }
  const app = await sessionApp(t, all, declareBegin, { logger: { stream } })
  const client = clientOf(app)
  const begin = (query: string, headers = {}) => client.post(`/begin?${query}`, undefined, headers)
  return { app, service, store, lines, begin, ...client }
}

const isLoginRejection = (t: Test, response: AnyResponse): void => {
  t.equal(response.statusCode, 403)
  t.match(JSON.parse(response.body), { code: 'ERR_AUTH_LOGIN_REFUSED', statusCode: 403 })
  t.strictSame(linesOf(response), [])
  t.equal(response.headers['cache-control'], 'no-store')
}

t.test('begin() starts a session that refreshes and logs out like any other', async (t) => {
  const { app, begin, me, refresh, post, service } = await setting(t)
  const logins = eventsOf(t, 'login')
  const response = await begin('name=alice', { 'user-agent': 'Browser/1.0' })
  const first = pairOf(response)
  t.equal(response.headers['cache-control'], 'no-store')
  t.strictSame(Object.keys(first), ['token', 'refreshToken', 'expiresIn'])
  t.match(claimsOf(first.token), { sub: 'alice', sid: String, iat: Number, jti: String })
  t.match(logins, [{ authenticator: 'login', user: { name: 'alice' }, duration: Number }])
  t.notOk('password' in (logins[0]?.user ?? {}))
  t.strictSame(service.asked, ['alice'])
  t.equal(app.authn.stats().sessions?.begun, 1)
  t.match(await app.authn.sessions.list('alice'), [
    { sid: claimsOf(first.token).sid, address: '127.0.0.1', userAgent: 'Browser/1.0' },
  ])
  const next = pairOf(await refresh(first.refreshToken))
  t.equal(await me(next.token), 200)
  t.equal((await post('/logout', undefined, bearer(next.token))).statusCode, 204)
  t.equal(await me(next.token), 401)
})

t.test('begin() sends the body and the cookies of a login', async (t) => {
  const { begin, post, app } = await setting(t, { cookies: true })
  const byPassword = await post('/login', { username: 'alice', password: 'wonderland' })
  const response = await begin('name=alice')
  t.strictSame([response.statusCode, response.body], [200, byPassword.body])
  const shown = (each: AnyResponse): unknown[] =>
    cookiesOf(each).map(({ name, attributes }) => [name, attributes])
  t.strictSame(shown(response), shown(byPassword))
  t.equal(shown(response).length, 2)
  const [token] = cookiesOf(response)
  const cookie = `${token?.name}=${token?.value}`
  t.equal((await app.inject({ url: '/me', headers: { cookie } })).statusCode, 200)
})

t.test('begin() with an unknown or unusable name is a 403, which is logged', async (t) => {
  const { begin, service, lines, app } = await setting(t, { cookies: true })
  const failures = eventsOf(t, 'failure')
  isLoginRejection(t, await begin('name=mallory'))
  t.strictSame(service.asked.splice(0), ['mallory'])
  const values = ['', 'a\0b', '\ud800', 'x'.repeat(1025), null, true, {}, ['alice'], { $ne: 1 }]
  const queries = values.map((value) => `json=${encodeURIComponent(JSON.stringify(value))}`)
  for (const query of ['', ...queries]) isLoginRejection(t, await begin(query))
  t.strictSame(service.asked, [], 'the user service is not asked')
  t.equal(failures.length, 11)
  t.match(failures[0], { code: 'ERR_AUTH_LOGIN_REFUSED', authenticator: 'login' })
  t.ok(lines.some(({ code }) => code === 'ERR_AUTH_LOGIN_REFUSED'))
  t.equal(app.authn.stats().sessions?.begun, 0)
})

t.test('begin() uses login.subject and login.claims', async (t) => {
  const login = {
    subject: (user: object) => (user as { name: string }).name,
    claims: () => ({ team: 'red' }),
  }
  const service = {
    findByUsername: (name: unknown) =>
      users.find((user) => [user.name, user.id].includes(name as 1)),
  }
  const { begin } = await setting(t, { login, userService: service })
  t.match(claimsOf(pairOf(await begin('json=1')).token), { sub: 'alice', team: 'red' })
  const plain = await setting(t, { userService: service })
  t.equal(claimsOf(pairOf(await plain.begin('json=1')).token).sub, 1, 'a number stays one')
  const wrong = await setting(t, { login: { subject: () => '' } })
  isFault(t, await wrong.begin('name=alice'), 'ERR_AUTH_TOKEN_FUNC')
})

t.test('begin() without a store or users is a 503 or 500, and begins no session', async (t) => {
  const { begin, store, app } = await setting(t, { cookies: true })
  store.failure = new Error('away')
  const response = await begin('name=alice')
  t.equal(response.statusCode, 503)
  t.match(JSON.parse(response.body), { code: 'ERR_AUTH_STORE_UNAVAILABLE' })
  t.strictSame(linesOf(response), [])
  store.failure = null
  t.strictSame(await app.authn.sessions.list('alice'), [])
  const failing = { findByUsername: () => Promise.reject(new Error('no database')) }
  isFault(t, await (await setting(t, { userService: failing })).begin('name=alice'))
  const authenticator = { authenticate: () => ({ name: 'anyone' }) }
  const verifier = await setting(t, { userService: undefined, login: false, authenticator })
  const without = await verifier.begin('name=alice')
  t.match([without.statusCode, JSON.parse(without.body)], [500, { code: 'ERR_AUTH_OPTION' }])
})

t.test('begin() is a 401 if the sessions of its user are revoked meanwhile', async (t) => {
  const { promise, resolve } = deferred()
  let isAsked = false
  const service = {
    async findByUsername(name: string | number) {
      isAsked = true
      await promise
      return users.find((user) => user.name === name)
    },
  }
  const { begin, app } = await setting(t, { userService: service, cookies: true })
  const answer = begin('name=alice')
  await until(() => isAsked, 'the user is read')
  await app.authn.sessions.revoke({ sub: 'alice' })
  resolve()
  const response = await answer
  t.match([response.statusCode, linesOf(response)], [401, []])
  t.match(JSON.parse(response.body), { code: 'ERR_AUTH_INVALID_CREDENTIALS' })
  t.strictSame(await app.authn.sessions.list('alice'), [])
})

t.test('begin() counts a revocation in the millisecond before it as earlier', async (t) => {
  // The clock of the store has whole milliseconds, of which the login begins in the middle of one.
  const [now, millisecond] = [1_800_000_000, 0.001]
  for (const [at, status] of [
    [now, 200],
    [now + 2 * millisecond, 401],
  ] as const) {
    const { performance: clock } = globalThis
    const real = clock.now()
    let elapsed = 0
    const store = storeWith((held) => ({
      create: async (session) => {
        elapsed = 0.4
        const created = (await held.create(session)) as CreatedSession
        return { ...created, now, userRevocation: { at, by: 'another process' } }
      },
    }))
    const { begin } = await setting(t, { sessions: { store } })
    t.intercept(clock, 'now', { value: () => real + elapsed })
    const answer = await begin('name=alice')
    Reflect.deleteProperty(clock, 'now')
    t.equal(answer.statusCode, status, `${at}`)
  }
})

t.test('begin() needs no login route, and uses the registration of its scope', async (t) => {
  const { begin, me, post } = await setting(t, { login: false })
  t.equal(await me(pairOf(await begin('name=alice')).token), 200)
  t.equal((await post('/login', {})).statusCode, 404)

  const inner = async (scope: FastifyInstance): Promise<void> => {
    await scope.register(authn, {
      userService: { findByUsername: (name) => ({ name, inner: true }) },
      jwt: { secret, audience: 'inner' },
      sessions: { name: 'inner' },
      cookies: { name: 'inner' },
    })
    declareBegin(scope)
  }
  const declare = (app: TestApp): unknown => {
    declareBegin(app)
    return app.register(inner, { prefix: '/inner' })
  }
  const app = await sessionApp(t, { jwt: { secret, audience: 'outer' } }, declare)
  const outer = clientOf(app)
  t.equal(claimsOf(pairOf(await outer.post('/begin?name=alice')).token).aud, 'outer')
  const response = await outer.post('/inner/begin?name=zoe')
  t.equal(response.statusCode, 200)
  const [token] = cookiesOf(response)
  t.match(claimsOf(token?.value ?? ''), { aud: 'inner', sub: 'zoe' })
  t.equal((await outer.post('/begin?name=zoe')).statusCode, 403)
})
