// program: redis
// What apps and people learn of a revoked session: the event `revoked`, and the message of a 401.
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t from 'tap'
import { locales } from '../../locales/index.js'
import { redisSessions } from '../../lib/sessions/index.js'
import { bearer, secret } from '../helpers/app.js'
import { isRejection, messages, tokenChallenge } from '../helpers/flows.js'
import { until } from '../helpers/load.js'
import { unlessFound } from '../helpers/programs.js'
import { redisServer } from '../helpers/redis-server.js'
import {
  breakable,
  claimsOf,
  clientOf,
  eventsOf,
  heldStore,
  sessionApp,
} from '../helpers/sessions.js'

t.test('revoked is published once for each session, however it was revoked', async (t) => {
  const { factory, advance } = heldStore()
  const sessions = { store: factory, maxPerUser: 2, grace: 0 }
  // The second app stands for another one in this process that learns of it too.
  const [app] = [await sessionApp(t, { sessions }), await sessionApp(t, { sessions })]
  const { login, post, refresh } = clientOf(app)
  const events = eventsOf(t, 'revoked')
  const take = (): unknown[] => events.splice(0).map(({ sid }) => sid)
  const sidOf = ({ token }: { token: string }): unknown => claimsOf(token).sid

  const first = await login()
  t.strictSame(take(), [])
  t.equal((await post('/logout', {}, bearer(first.token))).statusCode, 204)
  t.strictSame(take(), [sidOf(first)], 'a logout')

  const [one, two] = [await login(), await login()]
  t.equal(await app.authn.sessions.revoke({ sub: 'alice' }), 2)
  t.strictSame(new Set(take()), new Set([sidOf(one), sidOf(two)]), 'all of a user')
  t.equal(await app.authn.sessions.revoke({ sub: 'alice' }), 0)
  await app.authn.sessions.revoke({ sid: String(sidOf(one)) })
  t.strictSame(take(), [], 'again')

  const oldest = await login()
  advance(1)
  const [reused] = [await login(), await login()]
  t.strictSame(take(), [sidOf(oldest)], 'too many')
  await refresh(reused.refreshToken)
  t.equal((await refresh(reused.refreshToken)).statusCode, 401)
  t.strictSame(take(), [sidOf(reused)], 'reuse')
})

t.test('revoked is not published for what was revoked before the start', async (t) => {
  const store = breakable(heldStore().factory)
  store.failure = new Error('away')
  const app = await sessionApp(t, { sessions: { store: store.factory } })
  const events = eventsOf(t, 'revoked')
  const [watcher] = store.watchers
  const old = [{ sid: 'old', until: 2000 }]
  watcher?.revoked(old, 1000)
  watcher?.caughtUp()
  // As after a lost connection.
  watcher?.revoked([...old, { sid: 'new', until: 2000 }], 1000)
  t.strictSame(events, [{ sid: 'new', registration: '/' }])
  t.equal(app.authn.stats().sessions?.revoked, 2)
})

const skip = unlessFound('Redis')

t.test('revoked is published by a process that learns of it from Redis', { skip }, async (t) => {
  const server = await redisServer(t)
  const clients = [1, 2].map(() => new Redis(server.port, '127.0.0.1'))
  t.teardown(() => clients.map((client) => client.disconnect()))
  const [own, other] = clients as [Redis, Redis]
  const sessions = { store: redisSessions(own, { prefix: 'shop' }) }
  const app = await sessionApp(t, { sessions })
  const { token } = await clientOf(app).login()
  const { sid } = claimsOf(token)
  const events = eventsOf(t, 'revoked')
  // What another process does, of which this one only learns by the store.
  const open = redisSessions(other, { prefix: 'shop' }).open('default')
  t.equal((await open.revoke({ sid: String(sid) }, 300)).length, 1)
  await until(() => events.length > 0, 'it is published')
  await sleep(700)
  t.strictSame(events, [{ sid, registration: '/' }])
})

t.test('a person reads that they were logged out, in their language', async (t) => {
  let since: Date | null = null
  const app = await sessionApp(t, {
    jwt: { secret, validAfterField: 'since' },
    userService: { findByUsername: (name) => ({ name: String(name), password: null, since }) },
  })
  const challenge = tokenChallenge('The token is invalid')
  const now = Math.floor(Date.now() / 1000)
  const tokenOf = (sid: string): string =>
    app.jwtService.generateTokenWithClaims({ sub: 'alice', sid, iat: now })
  const [token, other] = [tokenOf('one'), tokenOf('two')]
  const ask = (sent: string, lang = 'en', url = '/me') =>
    app.inject({ url, headers: { ...bearer(sent), 'accept-language': lang } })
  t.equal((await ask(token)).statusCode, 200)
  await app.authn.sessions.revoke({ sid: 'one' })
  for (const lang of ['en', 'de', 'ja', 'pt-BR'])
    isRejection(t, await ask(token, lang), {
      error: String(locales[lang]?.['auth.logged-out']),
      challenge,
      language: lang,
    })
  const forged = `${token.slice(0, token.lastIndexOf('.'))}.${other.split('.')[2]}`
  isRejection(t, await ask(forged), { error: messages.jwtInvalid, challenge })
  t.equal((await ask(other)).statusCode, 200)
  since = new Date(Date.now() + 2000)
  isRejection(t, await ask(other), { error: messages.loggedOut, challenge })
})
