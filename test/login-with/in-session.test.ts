// A login with a provider in a session, which it replaces where the user is the same.
import t, { type Test } from 'tap'
import type { BeginOptions } from '../../lib/index.js'
import { jarOf, loginApp, type Begun } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { claimsOf } from '../helpers/sessions.js'
import { secret } from '../helpers/app.js'
import { cookiesOf, tls } from '../helpers/cookies.js'
import { codeNow, key } from '../helpers/second-factor.js'
import { epochSeconds } from '../helpers/tokens.js'
import type { AnyResponse } from '../helpers/flows.js'

const stale = epochSeconds() - 1200

/** The claims of the session that a response begins. */
const sessionIn = (response: AnyResponse) =>
  claimsOf(cookiesOf(response).find(({ name }) => name.endsWith('-token'))?.value ?? '')

async function setting(t: Test, options: object = {}) {
  const provider = await startProvider(t)
  // Of this test: a program of many begins long before.
  const now = epochSeconds()
  provider.idToken = { claims: { sub: 'alice', auth_time: now } }
  let how: BeginOptions = {}
  const login = await loginApp(
    t,
    provider,
    {},
    { sessions: { mfa: true }, ...options },
    {},
    (app) =>
      app.post('/begin', (request, reply) =>
        app.authn.sessions.begin('alice', request, reply, how),
      ),
  )
  const { app, get, finish } = login
  return {
    ...login,
    provider,
    now,
    /** Begins a session of alice. @returns its cookies */
    async enter(level: BeginOptions) {
      how = level
      return jarOf(await app.inject({ method: 'POST', url: '/begin', headers: tls }))
    },
    /** Begins a login in a browser with cookies. */
    async beginIn(session: string): Promise<Begun> {
      const response = await get('/login/corp?max_age=0', session)
      const location = new URL(String(response.headers.location))
      const cookie = `${session}; ${jarOf(response)}`
      return { response, sent: location.searchParams, cookie, callback: provider.visit(location) }
    },
    logInIn: async (session: string, begin: (session: string) => Promise<Begun>) =>
      finish(await begin(session)),
    list: (sub = 'alice') => app.authn.sessions.list(sub),
    me: async (cookie: string) => (await get('/me', cookie)).statusCode,
  }
}

t.test('a session of the same user is replaced', async (t) => {
  const { enter, beginIn, finish, list, me, now } = await setting(t)
  const levels: [how: BeginOptions, amr: string[] | undefined, time: number][] = [
    [{ amr: ['pwd'], authTime: stale }, ['pwd'], now],
    [{ authTime: stale }, [], now],
    [{ amr: ['pwd', 'otp', 'mfa'], authTime: stale }, ['pwd', 'otp', 'mfa'], stale],
  ]
  for (const [how, amr, time] of levels) {
    const session = await enter(how)
    const before = await list()
    const response = await finish(await beginIn(session))
    t.equal(response.statusCode, 303)
    t.equal(response.headers.location, '/')
    const { auth_time, amr: after } = sessionIn(response)
    t.strictSame([after, auth_time], [amr, time], JSON.stringify(how))
    t.equal(await me(session), 401, 'copies of the old one are revoked')
    t.equal(await me(jarOf(response)), 200)
    t.equal((await list()).length, before.length)
  }
})

t.test('a login of another user, or after the session, is one of its own', async (t) => {
  const { app, enter, beginIn, finish, list, provider, me, now } = await setting(t)
  const session = await enter({ amr: ['pwd', 'mfa'], authTime: stale })
  provider.idToken = { claims: { sub: 'bob', auth_time: now } }
  const bob = await finish(await beginIn(session))
  t.match(sessionIn(bob), { sub: 'bob', auth_time: now })
  t.notOk(sessionIn(bob).amr)
  t.equal((await list('bob')).length, 1)
  provider.idToken = { claims: { sub: 'alice', auth_time: now } }
  const other = await enter({ amr: ['pwd', 'mfa'], authTime: stale })
  const begun = await beginIn(other)
  await app.authn.sessions.revoke({ sub: 'alice' })
  const late = await finish(begun)
  t.equal(late.statusCode, 303, 'as without a session')
  t.notOk(sessionIn(late).amr, 'and proves nothing of it')
  t.equal(await me(other), 401)
  t.equal((await list()).length, 1)
})

t.test('a session without the code of its user is replaced once there is a code', async (t) => {
  let text: string | null = null
  const { app, enter, beginIn, finish, list, me } = await setting(t, {
    userService: {
      findByUsername: (name: string) => ({ name, password: '', secondFactor: text }),
    },
    login: { subject: ({ name }: { name: string }) => name },
    secondFactor: {
      key,
      issuer: 'Shop',
      page: '/code?from=corp',
      update: (_user: object, after: string | null) => {
        text = after
        return true
      },
    },
  })
  const post = (url: string, cookie: string, payload: object) => {
    const headers = { ...tls, cookie, 'sec-fetch-site': 'same-origin' }
    return app.inject({ method: 'POST', url, headers, payload })
  }
  const first = await enter({ amr: ['pwd'] })
  const setup = await post('/second-factor/setup', first, {})
  const { secret, token } = setup.json<{ secret: string; token: string }>()
  const enabled = await post('/second-factor/enable', first, { token, code: codeNow(secret) })
  t.equal(enabled.statusCode, 200)
  const stored = text
  text = null
  // As on a remembered device.
  const weak = await enter({ amr: ['pwd'], authTime: stale })
  text = stored
  const asked = await finish(await beginIn(weak))
  const [page, half] = String(asked.headers.location).split('#')
  t.equal(page, '/code?from=corp')
  t.equal(await me(weak), 200, 'until there is a code')
  const login = { token: half, code: codeNow(secret, 1) }
  const done = await post('/login/second-factor', weak, login)
  t.strictSame(sessionIn(done).amr, ['pwd', 'otp', 'mfa'])
  t.equal(await me(weak), 401)
  t.equal((await list()).length, 2)
  const strong = jarOf(enabled)
  const kept = await finish(await beginIn(strong))
  t.equal(kept.headers.location, '/', 'a session that is mfa needs no code')
  t.strictSame(sessionIn(kept).amr, ['pwd', 'otp', 'mfa'])
  t.equal((await list()).length, 2)
})

t.test('an attempt proves nothing in another registration, path or form', async (t) => {
  const { app, enter, beginIn, finish, now } = await setting(t)
  const session = await enter({ amr: ['pwd', 'mfa'], authTime: now })
  const begun = await beginIn(session)
  const { sid } = claimsOf(session.split('token=')[1] ?? '')
  const proved = { amr: ['mfa'], time: now }
  const claims = { sub: 'alice', sid, path: '/login/corp', proved, exp: now + 60 }
  const forged = app.jwtService.generateTokenWithClaims(claims)
  const attempt = begun.cookie.replace(/ey[\w-]+\.[\w-]+\.[\w-]+$/, forged)
  t.not(attempt, begun.cookie)
  const response = await finish({ ...begun, cookie: attempt })
  t.equal(response.statusCode, 401)
  t.strictSame(
    cookiesOf(response).filter(({ value }) => value !== ''),
    [],
  )
})

t.test('a session whose tokens the user has ended meanwhile lends nothing', async (t) => {
  const alice = { name: 'alice', validAfter: null as Date | null }
  const userService = { findByUsername: () => ({ ...alice }) }
  const { enter, beginIn, finish } = await setting(t, {
    userService,
    jwt: { secret, validAfterField: 'validAfter' },
  })
  const session = await enter({ amr: ['pwd', 'otp', 'mfa'] })
  const begun = await beginIn(session)
  alice.validAfter = new Date(Date.now() + 2000)
  const response = await finish(begun)
  t.equal(response.statusCode, 303)
  t.notOk(sessionIn(response).amr, 'it is a login of its own')
})
