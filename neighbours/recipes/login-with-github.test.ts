// The recipe as its page tells it, against a GitHub of our own, and what an attacker would try.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { buildApp, type Account, type Accounts } from './login-with-github.js'

const client = { id: 'our client', secret: 'our client secret' }
const origin = 'https://shop.example'
const redirectUri = `${origin}/login/github/callback`

/** As much of GitHub as the recipe talks to: it knows which code belongs to which user and to which challenge. */
async function startGithub(t: TestContext) {
  const codes = new Map<string, { user: object; challenge: string }>()
  const tokens = new Map<string, object>()
  const state = { asked: [] as string[], answer: null as null | { status: number; body: string } }
  async function answer(request: IncomingMessage): Promise<[number, object]> {
    if (request.url === '/user') {
      const user = tokens.get(request.headers.authorization ?? '')
      return user === undefined ? [401, {}] : [200, user]
    }
    const form = new URLSearchParams(await text(request))
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const verifier = form.get('code_verifier') ?? ''
    const basic = Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64').toString()
    const isRight =
      code?.challenge === createHash('sha256').update(verifier).digest('base64url') &&
      decodeURIComponent(basic.replaceAll('+', ' ')) === `${client.id}:${client.secret}` &&
      form.get('redirect_uri') === redirectUri
    if (code === undefined || !isRight) return [200, { error: 'bad_verification_code' }]
    const token = randomBytes(8).toString('hex')
    tokens.set(`Bearer ${token}`, code.user)
    return [200, { access_token: token, token_type: 'bearer', scope: '' }]
  }
  const server = createServer(async (request, response) => {
    state.asked.push(`${request.method} ${request.url}`)
    const [status, body] = await answer(request)
    response.setHeader('content-type', 'application/json')
    const given = request.url === '/user' ? state.answer : null
    response.writeHead(given?.status ?? status).end(given?.body ?? JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const auth = {
    tokenHost: host,
    tokenPath: '/login/oauth/access_token',
    authorizePath: '/login/oauth/authorize',
  }
  return { codes, state, github: { auth, userUrl: `${host}/user` }, server }
}

async function setUp(t: TestContext) {
  const fake = await startGithub(t)
  const rows: Account[] = [{ id: 1, githubId: 1001, name: 'alice' }]
  const accounts: Accounts = {
    byId: async (id) => rows.find((row) => row.id === id),
    byGithubId: async (githubId) => rows.find((row) => row.githubId === githubId),
    async create(githubId, name) {
      const account = { id: rows.length + 1, githubId, name }
      rows.push(account)
      return account
    },
  }
  const secret = randomBytes(64).toString('base64url')
  const app = await buildApp(secret, { accounts, origin, client, github: fake.github })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  t.after(() => app.close())
  return {
    ...fake,
    app,
    rows,
    /** Begins a login in a browser: its cookies, and what it is sent to GitHub with. */
    async begin() {
      const headers = { host: 'evil.example' }
      const response = await app.inject({ url: '/login/github', headers })
      const url = new URL(String(response.headers.location))
      const query = Object.fromEntries(url.searchParams)
      return { response, query, state: String(query.state), cookie: cookieOf(response) }
    },
    /** A user agrees on GitHub's page: the code that GitHub sends the browser back with. */
    agree(user: object, challenge = ''): string {
      const code = randomBytes(8).toString('hex')
      fake.codes.set(code, { user, challenge })
      return code
    },
    comeBack: (query: Record<string, string>, cookie: string) =>
      app.inject({ url: '/login/github/callback', query, headers: { cookie } }),
    async me(response: LightMyRequestResponse): Promise<unknown> {
      const headers = { cookie: cookieOf(response) }
      const { statusCode, body } = await app.inject({ url: '/me', headers })
      return statusCode === 200 ? (JSON.parse(body) as Account).id : statusCode
    },
  }
}

function cookieOf({ cookies }: LightMyRequestResponse): string {
  const kept = cookies.filter(({ value }) => value !== '')
  return kept.map(({ name, value }) => `${name}=${value}`).join('; ')
}

/** The login did not succeed, and nothing was said but that. */
function failed({ statusCode, headers, cookies }: LightMyRequestResponse, message: string) {
  assert.deepEqual([statusCode, headers.location], [302, '/login?failed=github'], message)
  assert.deepEqual(
    cookies.filter(({ value }) => value !== ''),
    [],
    message,
  )
}

test('a login with GitHub', async (t) => {
  const { app, rows, begin, agree, comeBack, me } = await setUp(t)
  const { response, query, state, cookie } = await begin()
  assert.equal(query.redirect_uri, redirectUri, 'whatever the host of the request')
  assert.deepEqual(
    [query.client_id, query.response_type, query.code_challenge_method],
    [client.id, 'code', 'S256'],
  )
  for (const each of response.cookies) {
    assert.match(each.name, /^__Host-/)
    const { httpOnly, secure, sameSite, path } = each
    assert.deepEqual([httpOnly, secure, sameSite, path], [true, true, 'Lax', '/'])
  }

  const code = agree({ id: 1001, login: 'alice' }, query.code_challenge)
  const back = await comeBack({ code, state }, cookie)
  assert.deepEqual([back.statusCode, back.headers.location], [302, '/'])
  assert.equal(await me(back), 1)
  const cleared = back.cookies.filter(({ value }) => value === '').map(({ name }) => name)
  assert.equal(cleared.length, 2, 'state and verifier')
  assert.equal(back.headers['cache-control'], 'no-store')
  failed(await comeBack({ code, state }, cookie), 'the same code again')

  const again = await begin()
  const renamed = agree({ id: 1001, login: 'liddell' }, again.query.code_challenge)
  assert.equal(await me(await comeBack({ code: renamed, state: again.state }, again.cookie)), 1)
  assert.equal((await app.authn.sessions.list(1)).length, 2)

  const other = await begin()
  // Somebody else has taken the name, and has the address in the profile.
  const user = { id: 1002, login: 'alice', email: 'alice@shop.example' }
  const theirs = agree(user, other.query.code_challenge)
  assert.equal(await me(await comeBack({ code: theirs, state: other.state }, other.cookie)), 2)
  assert.equal(rows.length, 2)
  const login = { username: 'alice', password: 'alice' }
  assert.equal(
    (await app.inject({ method: 'POST', url: '/login', payload: login })).statusCode,
    404,
  )
})

test('a browser that has not begun the login', async (t) => {
  const { state: fake, begin, agree, comeBack } = await setUp(t)
  const attacker = await begin()
  const victim = await begin()
  const mallory = { id: 1003, login: 'mallory' }
  const code = () => agree(mallory, attacker.query.code_challenge)
  const { state } = attacker
  failed(await comeBack({ code: code(), state }, ''), 'no cookies')
  failed(await comeBack({ code: code(), state }, victim.cookie), 'the state of another browser')
  failed(await comeBack({ code: code(), state: '' }, victim.cookie), 'an empty state')
  failed(await comeBack({ code: code() } as Record<string, string>, victim.cookie), 'no state')
  failed(await comeBack({ code: code(), state: '' }, '__Host-oauth2-redirect-state='), 'both empty')
  failed(
    await comeBack({ code: code(), state }, victim.cookie.replaceAll('__Host-', '')),
    'unprefixed',
  )
  assert.deepEqual(fake.asked, [], 'GitHub was not asked')
  // A code of the attacker with the state of the victim: PKCE.
  failed(await comeBack({ code: code(), state: victim.state }, victim.cookie), 'a foreign code')
  assert.deepEqual(fake.asked, ['POST /login/oauth/access_token'])
})

test('GitHub refuses, fails, or says something else', async (t) => {
  const { app, rows, state: fake, server, begin, agree, comeBack } = await setUp(t)
  const attempt = async () => {
    const { query, state, cookie } = await begin()
    const code = agree({ id: 1001, login: 'alice' }, query.code_challenge)
    return comeBack({ code, state }, cookie)
  }
  const { state, cookie } = await begin()
  failed(await comeBack({ error: 'access_denied', state }, cookie), 'the user has refused')
  for (const body of [
    '{}',
    '[]',
    'null',
    '<html>',
    '{"id":"1001"}',
    '{"id":1e30}',
    '{"id":null}',
  ]) {
    fake.answer = { status: 200, body }
    failed(await attempt(), body)
  }
  for (const status of [401, 403, 500]) {
    fake.answer = { status, body: '{"id":1001,"login":"alice"}' }
    failed(await attempt(), String(status))
  }
  fake.answer = null
  assert.equal((await attempt()).headers.location, '/')
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  failed(await attempt(), 'GitHub is away')
  assert.equal(rows.length, 1)
  assert.equal((await app.authn.sessions.list(1)).length, 1)
})
