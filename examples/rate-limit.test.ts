import t, { type Test } from 'tap'
import { hashPassword } from 'fastify-authn'
import { buildApp } from './rate-limit.js'
import { alice, bob, expectAnswer, login, noCredentials, rejection } from './support/expected.js'

const url = '/me'
/** A limit of @fastify/rate-limit, of which so much is left. */
const left = (limit: number, remaining: number) => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
})
const exceeded = {
  statusCode: 429,
  error: 'Too Many Requests',
  message: 'Rate limit exceeded, retry in 1 minute',
}
const tooMany = (limit: number) => ({
  ...left(limit, 0),
  'retry-after': /^(?:[1-9]|[1-5]\d|60)$/,
  'www-authenticate': undefined,
})
const unlimited = { 'x-ratelimit-limit': undefined, 'retry-after': undefined }

async function setUp(t: Test) {
  const users = new Map<unknown, { id: number; username: string; password: string }>()
  for (const { name, password } of [alice, bob]) {
    const hash = await hashPassword(password, { cost: 4 })
    users.set(name, { id: users.size + 1, username: name, password: hash })
  }
  const app = await buildApp({ findByUsername: (username) => users.get(username) })
  t.teardown(() => app.close())
  return { app, answer: expectAnswer(t, app) }
}

t.test('each user has a limit of their own, also behind one address', async (t) => {
  const { app, answer } = await setUp(t)
  const headers = await login(t, app, '/login', alice)
  const body = { id: 1, username: 'alice' }
  for (const remaining of [2, 1, 0]) {
    await answer({ url, headers }, 200, body, left(3, remaining))
  }
  await answer({ url, headers }, 429, exceeded, tooMany(3))
  // Another address is no way out.
  await answer({ url, headers, remoteAddress: '192.0.2.1' }, 429, exceeded, tooMany(3))
  const again = await login(t, app, '/login', alice)
  await answer({ url, headers: again }, 429, exceeded, tooMany(3))
  const other = await login(t, app, '/login', bob)
  await answer({ url, headers: other }, 200, { id: 2, username: 'bob' }, left(3, 2))
})

t.test('each API key of a user has a limit of its own', async (t) => {
  const { app, answer } = await setUp(t)
  await app.ready()
  const issued = { owner: 'alice', scopes: ['reports:read'], expiresAt: null }
  for (const name of ['one', 'another']) {
    const { key } = await app.authn.apiKeys.issue({ ...issued, name })
    const request = { url: '/reports', headers: { authorization: `Bearer ${key}` } }
    for (const remaining of [2, 1, 0]) {
      await answer(request, 200, { reports: 'none' }, left(3, remaining))
    }
    await answer(request, 429, exceeded, tooMany(3))
  }
  const headers = await login(t, app, '/login', alice)
  await answer({ url, headers }, 200, { id: 1, username: 'alice' }, left(3, 2))
})

t.test('anonymous requests are limited by address', async (t) => {
  const { app, answer } = await setUp(t)
  const headers = await login(t, app, '/login', alice)
  const news = { news: 'none' }
  for (const remaining of [2, 1, 0]) {
    await answer({ url: '/news' }, 200, news, left(3, remaining))
  }
  await answer({ url: '/news' }, 429, exceeded, tooMany(3))
  await answer({ url: '/news', remoteAddress: '192.0.2.1' }, 200, news, left(3, 2))
  // One client has all addresses of a /64 network.
  await answer({ url: '/news', remoteAddress: '2001:db8::1' }, 200, news, left(3, 2))
  await answer({ url: '/news', remoteAddress: '2001:db8::2' }, 200, news, left(3, 1))
  await answer({ url: '/news', headers }, 200, news, left(3, 2))
  await answer({ url: '/health' }, 200, { status: 'ok' }, unlimited)
})

t.test('rejected requests do not count against the limit of a user', async (t) => {
  const { app, answer } = await setUp(t)
  for (let turn = 0; turn < 5; turn += 1) {
    await answer({ url }, 401, noCredentials, { ...rejection(), ...unlimited })
  }
  await answer({ url: '/news' }, 200, { news: 'none' }, left(3, 2))
  const headers = await login(t, app, '/login', alice)
  await answer({ url, headers }, 200, { id: 1, username: 'alice' }, left(3, 2))
})

t.test('logins are limited by address, whichever the username', async (t) => {
  const { app, answer } = await setUp(t)
  for (let turn = 0; turn < 5; turn += 1) await login(t, app, '/login', turn % 2 ? alice : bob)
  const payload = { username: alice.name, password: alice.password }
  const request = { method: 'POST', url: '/login', payload } as const
  await answer(request, 429, exceeded, tooMany(5))
  // Not even read.
  await answer({ ...request, payload: { nonsense: true } }, 429, exceeded, tooMany(5))
  const elsewhere = await app.inject({ ...request, remoteAddress: '192.0.2.1' })
  t.match(
    { status: elsewhere.statusCode, body: elsewhere.json<object>(), headers: elsewhere.headers },
    { status: 200, body: { token: String }, headers: left(5, 4) },
  )
})
