import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { hashPassword } from 'fastify-authn'
import { buildApp } from '../../examples/spa/app.js'
import { createSession } from '../../examples/spa/public/session.js'
import {
  alice,
  bearer,
  expectAnswer,
  expiredToken,
  login,
  noCredentials,
  refusal,
  tokenChallenge,
  tokensOf,
} from '../helpers/examples.js'

const renew = { method: 'POST', url: '/renew' } as const
const credentials = { username: alice.name, password: alice.password }
const expired = refusal(tokenChallenge('The token expired'))
const me = { id: 1, username: 'alice' }

interface Claims {
  sub: string
  nbf: number
  exp: number
  auth_time: number
}

const now = (): number => Math.floor(Date.now() / 1000)

function claimsOf({ authorization }: { authorization: string }): Claims {
  const [, payload = ''] = authorization.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims
}

async function setUp(t: Test, lifetimes = { token: 300, session: 28_800 }) {
  const user = { ...me, password: await hashPassword(alice.password, { cost: 4 }) }
  const users = new Map<unknown, typeof user>([['alice', user]])
  const app = await buildApp({ findByUsername: (username) => users.get(username) }, lifetimes)
  t.teardown(() => app.close())
  const mint = (claims: object) =>
    bearer(tokensOf(app).generateTokenWithClaims({ sub: 'alice', ...claims }))
  return { app, users, mint, answer: expectAnswer(t, app) }
}

t.test('the page runs nothing but its own files', async (t) => {
  const { app, answer } = await setUp(t)
  const folder = new URL('../../examples/spa/public/', import.meta.url)
  const safe = {
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  }
  for (const [url, file, type] of [
    ['/', 'index.html', 'text/html'],
    ['/page.js', 'page.js', 'text/javascript'],
    ['/session.js', 'session.js', 'text/javascript'],
    ['/page.css', 'page.css', 'text/css'],
  ] as const) {
    const content = await readFile(new URL(file, folder), 'utf8')
    await answer({ url }, 200, content, { ...safe, 'content-type': `${type}; charset=utf-8` })
  }
  const { body } = await app.inject('/')
  t.notMatch(body, /<script(?![^>]* src=)|<style| style=| on\w+=|javascript:|https?:/)
})

t.test('a token is renewed while it is good', async (t) => {
  const { app, mint, answer } = await setUp(t)
  const first = await login(t, app, '/login', alice)
  const { nbf, exp, auth_time: began, sub } = claimsOf(first)
  t.strictSame([sub, exp - nbf, Math.abs(nbf - began) <= 1], ['alice', 300, true])

  const old = mint({ auth_time: now() - 3600, exp: now() + 10 })
  const response = await app.inject({ ...renew, headers: old })
  const { token } = response.json<{ token: string }>()
  t.match(
    { status: response.statusCode, headers: response.headers },
    { status: 200, headers: { 'cache-control': 'no-store', 'www-authenticate': undefined } },
  )
  const next = claimsOf(bearer(token))
  t.equal(next.auth_time, claimsOf(old).auth_time, 'the session is as old as it was')
  t.ok(Math.abs(next.exp - now() - 300) <= 1, 'the token lives anew')
  await answer({ url: '/api/me', headers: bearer(token) }, 200, me)
})

t.test('no token outlives the session', async (t) => {
  const { app, mint, answer } = await setUp(t)
  const began = now() - 28_800 + 60
  const response = await app.inject({ ...renew, headers: mint({ auth_time: began }) })
  const { token } = response.json<{ token: string }>()
  t.match({ status: response.statusCode, headers: response.headers }, { status: 200, headers: {} })
  t.match(claimsOf(bearer(token)), { auth_time: began, exp: began + 28_800 })

  for (const claims of [
    { auth_time: now() - 28_800 },
    { auth_time: 0 },
    { auth_time: String(now()) },
    { auth_time: null },
    {},
    { exp: 1, auth_time: now() },
  ]) {
    await answer({ ...renew, headers: mint(claims) }, 401, expiredToken, expired)
  }
  await answer(renew, 401, noCredentials, refusal())
})

t.test('who is gone renews nothing', async (t) => {
  const { app, users, answer } = await setUp(t)
  const headers = await login(t, app, '/login', alice)
  users.clear()
  const challenge = refusal(tokenChallenge('The token is not accepted'))
  await answer({ ...renew, headers }, 401, { error: 'Invalid credentials.' }, challenge)
})

/** The session of a page, before a real server. */
async function openPage(t: Test, lifetimes?: { token: number; session: number }) {
  const { app, users } = await setUp(t, lifetimes)
  const requests: string[] = []
  app.addHook('onResponse', async ({ url }, { statusCode }) => {
    requests.push(`${url} ${statusCode}`)
  })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const problems: string[] = []
  const answers: { username: string; password: string }[] = []
  const session = createSession({
    origin,
    askPassword: async (problem) => {
      problems.push(problem)
      return answers.shift() ?? credentials
    },
  })
  // Stops its timer.
  t.teardown(session.signOut)
  const ask = async (): Promise<unknown[]> => {
    const response = await session.request('/api/me')
    return [response.status, await response.json(), response.headers.get('www-authenticate')]
  }
  return { session, users, requests, problems, answers, ask }
}
const isMe = [200, me, null]

t.test('the page asks for the password once, and renews in silence', async (t) => {
  const { session, requests, problems, answers, ask } = await openPage(t)
  answers.push({ ...credentials, password: 'wrong' })
  t.strictSame(await Promise.all([ask(), ask()]), [isMe, isMe])
  t.strictSame(problems, ['', 'Invalid credentials.'])
  t.strictSame(requests.splice(0), ['/login 401', '/login 200', '/api/me 200', '/api/me 200'])

  await session.renew()
  t.strictSame(await ask(), isMe)
  t.strictSame(requests.splice(0), ['/renew 200', '/api/me 200'])
  t.equal(problems.length, 2, 'nobody was asked')
  session.signOut()
  t.strictSame(await ask(), isMe)
  t.strictSame(requests, ['/login 200', '/api/me 200'])
})

t.test('the page renews when two thirds of the life of a token are over', async (t) => {
  const { requests, ask } = await openPage(t)
  const timers: (() => Promise<void>)[] = []
  const real = globalThis.setTimeout
  const watched = (callback: () => Promise<void>, delay?: number): unknown => {
    if (delay === 200_000) timers.push(callback)
    return real(callback, delay)
  }
  globalThis.setTimeout = Object.assign(watched, real) as typeof setTimeout
  t.teardown(() => {
    globalThis.setTimeout = real
  })
  await ask()
  t.equal(timers.length, 1)
  await timers[0]?.()
  t.strictSame(requests, ['/login 200', '/api/me 200', '/renew 200'])
  t.equal(timers.length, 2, 'and again')
})

t.test('after a 401 the page logs in and sends the request again', async (t) => {
  const { session, requests, problems, ask } = await openPage(t, { token: 1, session: 28_800 })
  t.strictSame(await ask(), isMe)
  await new Promise((resolve) => setTimeout(resolve, 1100))
  await session.renew()
  t.strictSame(await ask(), isMe)
  t.strictSame(problems, ['', ''])
  t.strictSame(requests.slice(2), ['/renew 401', '/api/me 401', '/login 200', '/api/me 200'])
})

t.test('the page sends the token to its own server only', async (t) => {
  const { session, requests, problems } = await openPage(t)
  for (const elsewhere of [
    'https://elsewhere.example/',
    '//elsewhere.example/',
    '/\\elsewhere.example/',
    '/\t/elsewhere.example/',
  ]) {
    await t.rejects(session.request(elsewhere), TypeError, JSON.stringify(elsewhere))
  }
  t.strictSame([requests, problems], [[], []])
})
