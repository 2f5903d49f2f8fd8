import t, { type Test } from 'tap'
import {
  alice,
  basic,
  basicChallenge,
  expectAnswer,
  login,
  noCredentials,
  notAccepted,
  rejection,
  welcome,
  wrongCredentials,
} from './support/expected.js'

// @fastify/autoload sees by itself that it can load TypeScript when `npx tsx` has started the program.
process.env.FASTIFY_AUTOLOAD_TYPESCRIPT = '1'
const { buildApp } = await import('./autoload/app.js')

const admin = { name: 'admin', password: 'open sesame' }

async function setUp(t: Test) {
  const app = await buildApp()
  t.teardown(() => app.close())
  return { app, answer: expectAnswer(t, app), token: await login(t, app, '/login', alice) }
}

t.test('routes of a file without a mark are protected', async (t) => {
  const { answer, token } = await setUp(t)
  const url = '/notes'
  await answer({ url, headers: token }, 200, { notes: [], of: 'alice' }, welcome)
  await answer({ url }, 401, noCredentials, rejection())
  await answer({ url, headers: basic(admin) }, 401, noCredentials, rejection())
  await answer({ url: '/notes/public' }, 200, { notes: [] }, welcome)
})

t.test('routes of an open file are open, unless their own mark protects them', async (t) => {
  const { answer, token } = await setUp(t)
  await answer({ url: '/health' }, 200, { status: 'ok' }, welcome)
  const url = '/health/details'
  await answer({ url, headers: token }, 200, { status: 'ok', asked: 'alice' }, welcome)
  await answer({ url }, 401, noCredentials, rejection())
})

t.test('the mark of a folder applies to its files', async (t) => {
  const { app, answer, token } = await setUp(t)
  const url = '/admin/stats'
  await answer({ url }, 401, noCredentials, rejection(basicChallenge))
  await answer({ url, headers: token }, 401, notAccepted, rejection(basicChallenge))
  await answer({ url, headers: basic(alice) }, 401, wrongCredentials, rejection(basicChallenge))
  const { statusCode, headers, ...response } = await app.inject({ url, headers: basic(admin) })
  t.match(
    { statusCode, headers, body: response.json<object>() },
    { statusCode: 200, headers: welcome, body: { throttled: 0, hashing: { running: 0 } } },
  )
})
