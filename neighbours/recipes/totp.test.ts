// The recipe as its page tells it, and what an attacker would try.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { hashPassword } from 'fastify-authn'
import { TOTP, URI } from 'otpauth'
import { buildApp, type Account, type Accounts } from './totp.js'

const passwords = { alice: 'wonderland-1865', bob: 'builder-19990401' }
const hashes = {
  alice: await hashPassword(passwords.alice, { cost: 4 }),
  bob: await hashPassword(passwords.bob, { cost: 4 }),
}
type Name = keyof typeof passwords
const ids: Readonly<Record<Name, number>> = { alice: 1, bob: 2 }

/** Tables, with the conditions that the recipe asks of its queries. */
function tables() {
  const rows = new Map<number, Account & { step: number; recovery: Set<string> }>()
  for (const [name, id] of Object.entries(ids) as [Name, number][]) {
    const account = { id, email: `${name}@shop.example`, password: hashes[name], totpSecret: null }
    rows.set(id, { ...account, step: 0, recovery: new Set() })
  }
  const change = (id: number, to: object) => rows.set(id, Object.assign({}, rows.get(id), to))
  const accounts: Accounts = {
    byId: async (id) => rows.get(id),
    byEmail: async (email) => [...rows.values()].find((row) => row.email === email),
    async enable(id, totpSecret, step, digests) {
      if (rows.get(id)?.totpSecret !== null) return false
      change(id, { totpSecret, step, recovery: new Set(digests) })
      return true
    },
    async disable(id) {
      change(id, { totpSecret: null, recovery: new Set() })
      return true
    },
    async useStep(id, step) {
      if ((rows.get(id)?.step ?? Infinity) >= step) return false
      change(id, { step })
      return true
    },
    useRecoveryCode: async (id, digest) => rows.get(id)?.recovery.delete(digest) ?? false,
  }
  return { accounts, change }
}

async function setUp(t: TestContext) {
  const { accounts, change } = tables()
  const clock = { now: Date.now() }
  const options = { accounts, origin: 'https://shop.example', now: () => clock.now }
  const app = await buildApp(randomBytes(64).toString('base64url'), options)
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  t.after(() => app.close())
  const post = (url: string, payload: object = {}, headers: Record<string, string> = {}) =>
    app.inject({ method: 'POST', url, payload, headers })
  const byPassword = (name: Name, url = '/login/password', payload = {}) =>
    post(url, payload, basic(name))
  const client = {
    app,
    change,
    post,
    byPassword,
    now: () => clock.now,
    /** Seconds later. */
    wait: (seconds: number) => void (clock.now += seconds * 1000),
    async me(response: LightMyRequestResponse): Promise<unknown> {
      const { body } = await app.inject({ url: '/me', headers: cookies(response) })
      return (JSON.parse(body) as { id?: number }).id
    },
    async ticket(name: Name): Promise<string> {
      return (await byPassword(name)).json<{ secondFactor: string }>().secondFactor
    },
    async code(token: string, code: string) {
      return post('/login/code', { token, code })
    },
    /** Sets up the second factor. `codeAt` are its codes, so many seconds from now. */
    async enable(name: Name) {
      const session = cookies(await byPassword(name))
      const { uri, token } = (await byPassword(name, '/totp')).json<{
        uri: string
        token: string
      }>()
      const totp = URI.parse(uri) as TOTP
      const codeAt = (seconds: number) => totp.generate({ timestamp: clock.now + seconds * 1000 })
      const confirmed = await post('/totp/confirm', { token, code: codeAt(0) }, session)
      assert.equal(confirmed.statusCode, 200)
      const { recoveryCodes } = confirmed.json<{ recoveryCodes: string[] }>()
      return { session, token, codeAt, recoveryCodes }
    },
  }
  return client
}

function cookies({ cookies }: LightMyRequestResponse): { cookie: string } {
  return { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') }
}

function basic(name: Name, password: string = passwords[name]): { authorization: string } {
  const pair = Buffer.from(`${name}@shop.example:${password}`).toString('base64')
  return { authorization: `Basic ${pair}` }
}

test('a second factor: set up, log in, and every code once', async (t) => {
  const { app, byPassword, enable, ticket, code, me, wait } = await setUp(t)
  assert.equal(await me(await byPassword('alice')), 1, 'without one, the password is enough')
  const { codeAt, recoveryCodes } = await enable('alice')
  assert.equal(new Set(recoveryCodes).size, 10)

  const step = await byPassword('alice')
  assert.deepEqual([step.statusCode, step.cookies], [200, []], 'no session yet')
  const token = await ticket('alice')
  assert.equal((await code(token, codeAt(0))).statusCode, 401, 'the code of the setup')
  wait(30)
  assert.equal(await me(await code(token, codeAt(0))), 1)
  assert.equal((await code(token, codeAt(0))).statusCode, 401, 'a second time')
  assert.equal((await code(token, codeAt(-30))).statusCode, 401, 'an older one')
  wait(60)
  const [first, second] = await Promise.all([code(token, codeAt(-30)), code(token, codeAt(-30))])
  assert.deepEqual([first.statusCode, second.statusCode].sort(), [200, 401], 'one of two at once')
  assert.equal((await app.authn.sessions.list(1)).length, 4)
  assert.equal(await me(await byPassword('bob')), 2, 'others have none')
})

test('the password alone opens nothing', async (t) => {
  const { app, post, enable, ticket, byPassword } = await setUp(t)
  const { session } = await enable('alice')
  const credentials = { username: 'alice@shop.example', password: passwords.alice }
  assert.equal((await post('/login', credentials)).statusCode, 404)
  assert.equal((await post('/login/password', credentials)).statusCode, 401)
  const token = await ticket('alice')
  for (const headers of [{ authorization: `Bearer ${token}` }, { cookie: `token=${token}` }]) {
    assert.equal((await app.inject({ url: '/me', headers })).statusCode, 401)
  }
  assert.equal((await app.inject({ url: '/me', headers: basic('alice') })).statusCode, 401)
  assert.equal((await byPassword('alice', '/totp')).statusCode, 409, 'no other second factor')
  const withCode = { code: '000000' }
  assert.equal((await byPassword('alice', '/totp/off', withCode)).statusCode, 401)
  assert.equal((await post('/totp/off', withCode, session)).statusCode, 401)
  assert.equal((await post('/login/refresh', {}, session)).statusCode, 200, 'sessions go on')
})

test('tokens of other kinds, of other users, and from other times', async (t) => {
  const { app, post, enable, ticket, code, change, byPassword, wait, now } = await setUp(t)
  const bobsSession = cookies(await byPassword('bob'))
  const bobs = (await byPassword('bob', '/totp')).json<{ uri: string; token: string }>()
  const bobsTotp = URI.parse(bobs.uri) as TOTP
  const alice = await enable('alice')
  wait(60)
  const token = await ticket('alice')
  const service = app.jwtService
  const claims = service.verify(token, undefined, { typ: 'second-factor+jwt' })
  const sign = (more: object, typ: string) =>
    service.generateTokenWithClaims({ ...claims, ...more }, undefined, { typ })
  const forged = {
    expired: sign({ exp: 1 }, 'second-factor+jwt'),
    'of the setup': alice.token,
    'of the setup of bob': bobs.token,
    'an access token': sign({}, 'JWT'),
    'for bob, by the state of alice': sign({ sub: 2 }, 'second-factor+jwt'),
    'of no user': sign({ sub: 99 }, 'second-factor+jwt'),
    changed: `${token.slice(0, -2)}AA`,
  }
  for (const [name, each] of Object.entries(forged)) {
    assert.equal((await code(each, alice.codeAt(0))).statusCode, 401, name)
  }
  const confirm = { token: bobs.token, code: bobsTotp.generate({ timestamp: now() }) }
  assert.equal((await post('/totp/confirm', confirm, alice.session)).statusCode, 401, 'of bob')
  assert.equal((await post('/totp/confirm', confirm)).statusCode, 401)
  assert.equal((await post('/totp/confirm', { ...confirm, token }, bobsSession)).statusCode, 401)
  // The token of a login has no secret.
  const none = new TOTP({ secret: 'undefined' }).generate({ timestamp: now() })
  const ofLogin = { token, code: none }
  assert.equal((await post('/totp/confirm', ofLogin, alice.session)).statusCode, 401)
  const wrong = { ...confirm, code: '12345a' }
  assert.equal((await post('/totp/confirm', wrong, bobsSession)).statusCode, 401)
  assert.equal((await post('/totp/confirm', confirm, bobsSession)).statusCode, 200)

  change(1, { password: hashes.bob })
  assert.equal((await code(token, alice.codeAt(0))).statusCode, 401, 'the password was changed')
  change(1, { password: hashes.alice })
  assert.equal((await code(token, alice.codeAt(0))).statusCode, 200)

  for (const from of ['https://evil.example', 'null']) {
    const request = { token, code: alice.codeAt(30) }
    assert.equal((await post('/login/code', request, { origin: from })).statusCode, 403, from)
  }
})

test('guesses are throttled, from every address and with every token', async (t) => {
  const { app, enable, ticket, code, byPassword, wait } = await setUp(t)
  const { codeAt, recoveryCodes } = await enable('alice')
  wait(60)
  const guesses = Array.from({ length: 8 }, async (_, index) => {
    const payload = { token: await ticket('alice'), code: `00000${index}` }
    const remoteAddress = `127.0.0.${index + 1}`
    return app.inject({ method: 'POST', url: '/login/code', payload, remoteAddress })
  })
  const codes = (await Promise.all(guesses)).map(({ statusCode }) => statusCode)
  assert.deepEqual(codes.sort(), [401, 401, 401, 401, 401, 429, 429, 429])
  const token = await ticket('alice')
  assert.equal((await code(token, codeAt(0))).statusCode, 429, 'the right one too')
  assert.equal((await code(token, String(recoveryCodes[0]))).statusCode, 429)
  const off = await byPassword('alice', '/totp/off', { code: codeAt(0) })
  assert.equal(off.statusCode, 429)
})

test('logging in often is not guessing, and clocks may differ by a step', async (t) => {
  const { enable, ticket, code, wait } = await setUp(t)
  const { codeAt } = await enable('alice')
  const token = await ticket('alice')
  wait(300)
  assert.equal((await code(token, codeAt(-60))).statusCode, 401, 'too old')
  assert.equal((await code(token, codeAt(60))).statusCode, 401, 'too new')
  assert.equal((await code(token, codeAt(-30))).statusCode, 200)
  assert.equal((await code(token, codeAt(30))).statusCode, 200)
  wait(30)
  for (let turn = 0; turn < 8; turn += 1) {
    wait(30)
    assert.equal((await code(await ticket('alice'), codeAt(0))).statusCode, 200)
  }
})

test('recovery codes: each once, however it is typed', async (t) => {
  const { enable, ticket, code, me, byPassword, wait } = await setUp(t)
  const { codeAt, recoveryCodes } = await enable('alice')
  const [first = '', second = '', third = ''] = recoveryCodes
  const token = await ticket('alice')
  const typed = first.toUpperCase().replaceAll('-', ' ')
  assert.equal(await me(await code(token, typed)), 1)
  assert.equal((await code(token, first)).statusCode, 401, 'used')
  const both = await Promise.all([code(token, second), code(token, second)])
  assert.deepEqual(both.map(({ statusCode }) => statusCode).sort(), [200, 401])
  assert.equal((await code(token, '------')).statusCode, 401)

  wait(60)
  assert.equal((await byPassword('alice', '/totp/off', { code: codeAt(0) })).statusCode, 204)
  assert.equal(await me(await byPassword('alice')), 1)
  assert.equal((await code(token, third)).statusCode, 401, 'of a second factor that is off')
})
