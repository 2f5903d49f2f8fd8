import t from 'tap'
import { secret } from '../helpers/app.js'
import { claimsOf, clientOf, eventsOf, heldStore, pairOf, sessionApp } from '../helpers/sessions.js'

t.test('a login beyond maxPerUser revokes the oldest session of its user', async (t) => {
  const { factory, advance } = heldStore()
  const events = eventsOf(t, 'logout')
  const sessions = { store: factory, maxPerUser: 2 }
  const [one, other] = [await sessionApp(t, { sessions }), await sessionApp(t, { sessions })]
  const [first, second] = [await clientOf(one).login(), await clientOf(other).login()]
  const bob = await clientOf(one).post('/login', { username: 'bob', password: 'le bricoleur' })
  advance(1)
  const used = pairOf(await clientOf(other).refresh(first.refreshToken))
  const third = await clientOf(other).login({ 'user-agent': 'third' })
  for (const client of [clientOf(one), clientOf(other)]) {
    const tokens = [first, used, second, third, pairOf(bob)].map(({ token }) => token)
    const statuses = await Promise.all(tokens.map((token) => client.me(token)))
    t.strictSame(statuses, [401, 401, 200, 200, 200], 'the first login, although it was used')
    t.equal((await client.refresh(used.refreshToken)).statusCode, 401)
  }
  const { sid } = claimsOf(first.token)
  t.match(events, [{ authenticator: 'login', sid, sub: 'alice', everywhere: false, revoked: 1 }])
  t.equal(events.length, 1)
  t.equal(events[0]?.request.headers['user-agent'], 'third')
  const listed = await one.authn.sessions.list('alice')
  t.strictSame(
    listed?.map((session) => session.sid),
    [third, second].map(({ token }) => claimsOf(token).sid),
  )
})

t.test('a user has at most 100 sessions by default', async (t) => {
  const app = await sessionApp(t)
  const { login, me } = clientOf(app)
  const first = await login()
  for (let count = 0; count < 99; count++) await login()
  t.equal(await me(first.token), 200)
  await login()
  t.equal(await me(first.token), 401)
  t.equal((await app.authn.sessions.list('alice')).length, 100)
})

t.test('a process keeps revocations as long as tokens of other processes live', async (t) => {
  const { factory, advance } = heldStore()
  const open = (expiry: number) =>
    sessionApp(t, { sessions: { store: factory }, jwt: { secret, expiry } })
  const [long, short] = [await open(7200), await open(60)]
  const begun = await clientOf(long).login()
  const other = await clientOf(short).login()
  const refreshed = pairOf(await clientOf(long).refresh(other.refreshToken))
  const repeatedBy = await clientOf(short).login()
  pairOf(await clientOf(short).refresh(repeatedBy.refreshToken))
  const repeated = pairOf(await clientOf(long).refresh(repeatedBy.refreshToken))
  const tokens = [begun, refreshed, repeated].map(({ token }) => token)
  for (const token of tokens) t.equal(await clientOf(short).me(token), 200)
  t.equal(await short.authn.sessions.revoke({ sub: 'alice' }), 3)
  // A process that starts later reads the revocation in the store.
  advance(7000)
  const now = performance.now()
  t.intercept(performance, 'now', { value: () => now + 7_000_000 })
  const later = await open(60)
  for (const token of tokens) {
    for (const app of [long, short, later]) t.equal(await clientOf(app).me(token), 401)
  }
  t.equal(short.authn.stats().sessions?.revoked, 3)
})
