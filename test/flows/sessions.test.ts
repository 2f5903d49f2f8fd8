// Also holds lib/sessions/begin.ts, lib/sessions/refresh.ts, lib/sessions/logout.ts, lib/sessions/routes.ts,
// lib/sessions/tokens.ts, lib/sessions/tools.ts, lib/sessions/api.ts, lib/sessions/bodies.ts, lib/sessions/data.ts,
// lib/sessions/open.ts, lib/sessions/index.ts, and lib/login/answer.ts.
// Also holds lib/sessions/ends.ts, lib/sessions/refresh-token.ts, lib/sessions/store-access.ts, lib/sessions/watch.ts,
// lib/sessions/stores/memory.ts, lib/sessions/stores/memory-space.ts, lib/login/claims.ts,
// lib/options/resolve-sessions.ts and lib/options/session-schemas.ts. And lib/rooms.ts.
import t from 'tap'
import { bearer } from '../helpers/app.js'
import { isRefusal, bearerChallenge } from '../helpers/flows.js'
import { claimsOf, clientOf, eventsOf, heldStore, pairOf, sessionApp } from '../helpers/sessions.js'

const over = 'Your session is over. Please log in again.'
const stolen = 'Your session was ended for your security. Please log in again.'
const invalid = { error: over, challenge: bearerChallenge }
const reused = { error: stolen, challenge: bearerChallenge }

t.test('a login gives a pair, a refresh gives the next, a logout ends both', async (t) => {
  const { factory } = heldStore()
  const app = await sessionApp(t, { sessions: { store: factory } })
  const { login, refresh, me, post } = clientOf(app)
  const first = await login({ 'user-agent': 'Test/1.0' })
  t.strictSame(Object.keys(first), ['token', 'refreshToken', 'expiresIn'])
  t.equal(first.expiresIn, 300)
  const claims = claimsOf(first.token)
  t.strictSame(Object.keys(claims).toSorted(), ['exp', 'iat', 'jti', 'nbf', 'sid', 'sub'])
  t.equal(await me(first.token), 200)

  const second = pairOf(await refresh(first.refreshToken))
  t.not(second.refreshToken, first.refreshToken)
  const next = claimsOf(second.token)
  t.strictSame([next.sid, next.sub], [claims.sid, claims.sub])
  t.not(next.jti, claims.jti)
  t.strictSame([await me(first.token), await me(second.token)], [200, 200])

  const logouts = eventsOf(t, 'logout')
  const left = await post('/logout', undefined, bearer(second.token))
  t.strictSame([left.statusCode, left.body, left.headers['cache-control']], [204, '', 'no-store'])
  t.match(logouts, [{ sid: claims.sid, sub: 'alice', everywhere: false, ended: 1 }])
  t.strictSame([await me(first.token), await me(second.token)], [401, 401])
  isRefusal(t, await refresh(second.refreshToken), invalid)
})

t.test('the direct predecessor gets the same successor within the grace', async (t) => {
  const { factory, advance } = heldStore()
  const app = await sessionApp(t, { sessions: { store: factory, grace: 10 } })
  const { login, refresh, me } = clientOf(app)
  const first = await login()
  const second = pairOf(await refresh(first.refreshToken))
  advance(9.9)
  const again = pairOf(await refresh(first.refreshToken))
  t.equal(again.refreshToken, second.refreshToken)
  t.equal(await me(again.token), 200)

  const events = eventsOf(t, 'reuse')
  advance(0.2)
  isRefusal(t, await refresh(first.refreshToken), reused)
  t.match(events, [{ sub: 'alice', sid: claimsOf(first.token).sid, authenticator: 'refresh' }])
  for (const { token } of [first, second, again]) t.equal(await me(token), 401)
  isRefusal(t, await refresh(second.refreshToken), invalid)
})
