// `auth_time` and `amr` of the tokens of sessions: how and when their users have authenticated.
import t from 'tap'
import type { BeginOptions } from '../../lib/index.js'
import { bearer } from '../helpers/app.js'
import { isFault } from '../helpers/flows.js'
import {
  claimsOf,
  clientOf,
  eventsOf,
  heldStore,
  pairOf,
  sessionApp,
  storeWith,
} from '../helpers/sessions.js'
import { epochSeconds } from '../helpers/tokens.js'

const levelOf = (token: string) => {
  const { auth_time, amr } = claimsOf(token)
  return { auth_time, amr }
}

t.test('a login says when and how it was, and a refresh makes nothing newer', async (t) => {
  const logins = eventsOf(t, 'login')
  const app = await sessionApp(t, {}, (scope) =>
    scope.get('/fresh', { config: { auth: { fresh: 60 } } }, () => 'fresh'),
  )
  const { login, refresh } = clientOf(app)
  const fresh = async (token: string) =>
    (await app.inject({ url: '/fresh', headers: bearer(token) })).statusCode
  const first = await login()
  const { auth_time, amr } = levelOf(first.token)
  t.ok(Number.isInteger(auth_time) && Math.abs(Number(auth_time) - epochSeconds()) < 5)
  t.strictSame(amr, ['pwd'])
  t.match(logins, [{ amr: ['pwd'] }])
  t.equal(await fresh(first.token), 200)
  let ahead = 0
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() + ahead * 1000 })
  ahead = 70
  const second = pairOf(await refresh(first.refreshToken))
  t.strictSame(levelOf(second.token), { auth_time, amr })
  t.equal(await fresh(second.token), 401)
})

t.test('a session from before is as old as its login, and says nothing of factors', async (t) => {
  const factory = storeWith((store) => ({
    find: async (handle) => {
      const found = await store.find(handle)
      const { session } = found
      return { ...found, session: session && { ...session, data: '{"begun":1700000000.5}' } }
    },
  }))
  const { login, refresh } = clientOf(await sessionApp(t, { sessions: { store: factory } }))
  const { refreshToken } = await login()
  const { token } = pairOf(await refresh(refreshToken))
  t.strictSame(levelOf(token), { auth_time: 1_700_000_000, amr: undefined })
})

t.test('begin() takes how and when the user has authenticated', async (t) => {
  let how: unknown
  const app = await sessionApp(t, { sessions: { store: heldStore().factory } }, (scope) =>
    scope.post('/begin', (request, reply) =>
      scope.authn.sessions.begin('alice', request, reply, how as BeginOptions),
    ),
  )
  const { post } = clientOf(app)
  const logins = eventsOf(t, 'login')
  const now = epochSeconds()
  for (const given of [{}, { amr: ['otp', 'mfa'] }, { authTime: now - 900.5 }, { amr: [] }]) {
    how = given
    const { auth_time, amr } = levelOf(pairOf(await post('/begin')).token)
    const { amr: wanted, authTime } = given as BeginOptions
    t.strictSame(amr, wanted)
    t.ok(Math.abs(Number(auth_time) - Math.floor(authTime ?? now)) < 5)
    t.strictSame(logins.at(-1)?.amr, wanted)
  }
  const wrong = [
    { amr: 'mfa' },
    { amr: ['mfa', 1] },
    { amr: null },
    { authTime: now * 1000 },
    { authTime: String(now) },
    { authTime: NaN },
    { authTime: 0 },
  ]
  for (const given of wrong) {
    how = given
    const response = await post('/begin')
    t.match(response, { statusCode: 500, body: /ERR_AUTH_CLAIMS/ }, JSON.stringify(given))
  }
})

t.test('login.claims must not say how the user has authenticated', async (t) => {
  for (const claims of [{ amr: ['mfa'] }, { auth_time: 1 }]) {
    const { post } = clientOf(await sessionApp(t, { login: { claims: () => claims } }))
    const response = await post('/login', { username: 'alice', password: 'wonderland' })
    isFault(t, response, 'ERR_AUTH_TOKEN_FUNC')
  }
})
