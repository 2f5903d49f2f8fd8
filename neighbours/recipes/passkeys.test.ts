// The recipe as its page tells it, with an authenticator of our own, and what an attacker would try.
import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type { LightMyRequestResponse } from 'fastify'
import { hashPassword } from 'fastify-authn'
import { buildApp, type Passkey } from './passkeys.js'

const passwords = { alice: 'wonderland-1865', bob: 'builder-19990401' }
type Name = keyof typeof passwords
const origin = 'https://shop.example'
const accounts = await Promise.all(
  Object.entries(passwords).map(async ([name, password], index) => ({
    id: index + 1,
    email: `${name}@shop.example`,
    password: await hashPassword(password, { cost: 4 }),
  })),
)

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()
const encoded = (data: string | Buffer): string => Buffer.from(data).toString('base64url')

/** What a browser and its authenticator do, right or with a fault. */
interface Ways {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  /** Whether the user was present and verified, in the bits of WebAuthn section 6.1. */
  readonly flags?: number
  readonly counter?: number
  readonly key?: KeyObject
  readonly crossOrigin?: boolean
}

class Authenticator {
  readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly id = randomBytes(16)
  counter = 0

  #clientData(type: string, challenge: string, ways: Ways): Buffer {
    const { origin: from = origin, crossOrigin = false } = ways
    const data = { type: ways.type ?? type, challenge, origin: from, crossOrigin }
    return Buffer.from(JSON.stringify(data))
  }

  #data(flags: number, { rpId = 'shop.example', counter = (this.counter += 1) }: Ways): Buffer {
    const bytes = Buffer.alloc(37)
    sha256(rpId).copy(bytes)
    bytes.writeUInt8(flags, 32)
    bytes.writeUInt32BE(counter, 33)
    return bytes
  }

  register(challenge: string, ways: Ways = {}) {
    const { x = '', y = '' } = this.keys.publicKey.export({ format: 'jwk' })
    const [bytesX, bytesY] = [x, y].map((text) => new Uint8Array(Buffer.from(text, 'base64url')))
    const key = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytesX as Uint8Array],
        [-3, bytesY as Uint8Array],
      ]) as never,
    )
    const length = Buffer.from([0, this.id.length])
    const data = this.#data((ways.flags ?? 5) | 0x40, ways)
    const authData = Buffer.concat([data, Buffer.alloc(16), length, this.id, Buffer.from(key)])
    const attestation = isoCBOR.encode(
      new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', new Uint8Array(authData)],
      ]) as never,
    )
    const response = {
      clientDataJSON: encoded(this.#clientData('webauthn.create', challenge, ways)),
      attestationObject: encoded(Buffer.from(attestation)),
    }
    return this.#answer(response)
  }

  logIn(challenge: string, ways: Ways = {}) {
    const client = this.#clientData('webauthn.get', challenge, ways)
    const data = this.#data(ways.flags ?? 5, ways)
    const signed = Buffer.concat([data, sha256(client)])
    return this.#answer({
      clientDataJSON: encoded(client),
      authenticatorData: encoded(data),
      signature: encoded(sign('sha256', signed, ways.key ?? this.keys.privateKey)),
    })
  }

  #answer(response: Record<string, string>) {
    const id = encoded(this.id)
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }
  }
}

async function setUp(t: TestContext) {
  const passkeys = new Map<string, Passkey>()
  const open = new Set<string>()
  const state = { broken: false }
  const app = await buildApp(randomBytes(64).toString('base64url'), {
    origin,
    accounts: {
      byId: async (id) => accounts.find((account) => account.id === id),
      byEmail: async (email) => accounts.find((account) => account.email === email),
      passkey: async (id) => passkeys.get(id),
      passkeysOf: async (id) => [...passkeys.values()].filter(({ accountId }) => accountId === id),
      async addPasskey(passkey) {
        if (passkeys.has(passkey.id)) return false
        passkeys.set(passkey.id, passkey)
        return true
      },
      async setCounter(id, counter) {
        passkeys.set(id, { ...(passkeys.get(id) as Passkey), counter })
      },
    },
    challenges: {
      add: async (key) => void open.add(key),
      async use(key) {
        if (state.broken) throw new Error('Redis is away')
        return open.delete(key)
      },
    },
  })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  t.after(() => app.close())
  const post = (url: string, payload: object = {}, headers: Record<string, string> = {}) =>
    app.inject({ method: 'POST', url, payload, headers })
  const challengeOf = (response: LightMyRequestResponse): string =>
    response.json<{ challenge: string }>().challenge
  const logInWithPassword = async (name: Name) =>
    cookies(await post('/login', { username: `${name}@shop.example`, password: passwords[name] }))
  const challenges = {
    toAdd: async (name: Name) => challengeOf(await post('/passkeys/options', {}, basic(name))),
    toLogIn: async () => challengeOf(await post('/login/passkey/options')),
  }
  return {
    app,
    post,
    passkeys,
    open,
    state,
    challenges,
    logInWithPassword,
    /** A new passkey of a user. */
    async passkeyOf(name: Name) {
      const authenticator = new Authenticator()
      const session = await logInWithPassword(name)
      const answer = authenticator.register(await challenges.toAdd(name))
      assert.equal((await post('/passkeys', answer, session)).statusCode, 204)
      return authenticator
    },
    async me(response: LightMyRequestResponse): Promise<unknown> {
      const { statusCode, body } = await app.inject({ url: '/me', headers: cookies(response) })
      return statusCode === 200 ? (JSON.parse(body) as { id: number }).id : statusCode
    },
  }
}

function cookies({ cookies }: LightMyRequestResponse): { cookie: string } {
  return { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') }
}

function basic(name: Name): { authorization: string } {
  const pair = Buffer.from(`${name}@shop.example:${passwords[name]}`).toString('base64')
  return { authorization: `Basic ${pair}` }
}

/** Faults that both ceremonies have in common. */
const faults: Readonly<Record<string, Ways>> = {
  'a page of another site': { origin: 'https://evil.example' },
  'a subdomain': { origin: 'https://blog.shop.example' },
  'without TLS': { origin: 'http://shop.example' },
  'a passkey for another host': { rpId: 'evil.example' },
  'a user who was not verified': { flags: 1 },
  'a user who was not present': { flags: 4 },
}

test('add a passkey, and log in with it', async (t) => {
  const { post, passkeyOf, challenges, passkeys, me } = await setUp(t)
  const [alice, bob] = [await passkeyOf('alice'), await passkeyOf('bob')]
  assert.equal(passkeys.size, 2)
  const options = (await post('/passkeys/options', {}, basic('alice'))).json<{
    excludeCredentials: { id: string }[]
  }>()
  assert.deepEqual(
    options.excludeCredentials.map(({ id }) => id),
    [encoded(alice.id)],
  )
  for (const [authenticator, id] of [
    [alice, 1],
    [bob, 2],
    [alice, 1],
  ] as const) {
    const answer = authenticator.logIn(await challenges.toLogIn())
    const response = await post('/login/passkey', answer, { origin })
    assert.equal(await me(response), id)
    assert.equal(response.headers['cache-control'], 'no-store')
    assert.equal((await post('/login/passkey', answer)).statusCode, 401, 'the same answer again')
  }
  const copy = alice.logIn(await challenges.toLogIn(), { counter: 2 })
  assert.equal((await post('/login/passkey', copy)).statusCode, 401, 'a copy of the authenticator')
})

test('logins that are rejected', async (t) => {
  const { app, post, open, state, passkeyOf, challenges, logInWithPassword } = await setUp(t)
  const [alice, bob] = [await passkeyOf('alice'), await passkeyOf('bob')]
  const status = async (answer: object, headers = {}) =>
    (await post('/login/passkey', answer, headers)).statusCode
  const more: Readonly<Record<string, Ways>> = {
    ...faults,
    'the key of another passkey': { key: bob.keys.privateKey },
    'a registration': { type: 'webauthn.create' },
  }
  for (const [name, ways] of Object.entries(more)) {
    assert.equal(await status(alice.logIn(await challenges.toLogIn(), ways)), 401, name)
  }
  const session = await logInWithPassword('alice')
  assert.equal(await status(alice.logIn(await challenges.toAdd('alice')), session), 401, 'to add')
  assert.equal(await status(alice.logIn(encoded(randomBytes(32)))), 401, 'a challenge of its own')
  const challenge = await challenges.toLogIn()
  open.clear()
  assert.equal(await status(alice.logIn(challenge)), 401, 'an expired challenge')

  const answer = async () => alice.logIn(await challenges.toLogIn())
  const { id } = bob.logIn('')
  assert.equal(await status({ ...(await answer()), id }), 401, 'the id of another passkey')
  assert.equal(await status({ ...(await answer()), id, rawId: id }), 401)
  assert.equal(await status({ ...(await answer()), id: 'unknown' }), 401)
  const { response, ...rest } = await answer()
  const changed = encoded(
    Buffer.from(String(response.clientDataJSON), 'base64url').toString().replace('get"', 'get" '),
  )
  assert.equal(await status({ ...rest, response: { ...response, clientDataJSON: changed } }), 401)
  for (const wrong of [{}, { clientDataJSON: 1 }, { clientDataJSON: 'bnVsbA' }]) {
    assert.equal(await status({ ...rest, response: wrong }), 401, JSON.stringify(wrong))
  }
  assert.equal(await status({ id: 'a' }), 400)
  for (const from of ['https://evil.example', 'null']) {
    assert.equal(await status(await answer(), { origin: from }), 403, `login CSRF from ${from}`)
  }
  const both = await answer()
  const [first, second] = await Promise.all([status(both), status(both)])
  assert.deepEqual([first, second].sort(), [200, 401], 'one of two at once')
  assert.equal((await app.authn.sessions.list(2)).length, 1, 'only the one of the password')
  state.broken = true
  assert.equal(await status(await answer()), 500, 'a store that is away is no wrong passkey')
})

test('registrations that are rejected', async (t) => {
  const { app, post, passkeys, passkeyOf, challenges, logInWithPassword } = await setUp(t)
  const [alice, bob] = [await logInWithPassword('alice'), await logInWithPassword('bob')]
  const add = async (answer: object, headers: Record<string, string> = alice) =>
    (await post('/passkeys', answer, headers)).statusCode
  assert.equal((await post('/passkeys/options', {}, alice)).statusCode, 401, 'a session alone')
  assert.equal((await post('/passkeys/options')).statusCode, 401)
  const answer = async (ways?: Ways) =>
    new Authenticator().register(await challenges.toAdd('alice'), ways)
  for (const [name, ways] of Object.entries({ ...faults, 'a login': { type: 'webauthn.get' } })) {
    assert.equal(await add(await answer(ways)), 401, name)
  }
  assert.equal(await add(await answer(), {}), 401, 'anonymous')
  assert.equal(await add(await answer(), bob), 401, 'for the account of bob')
  assert.equal(await add(new Authenticator().register(await challenges.toLogIn())), 401)
  assert.equal(await add(await answer(), { ...alice, origin: 'https://evil.example' }), 403)
  assert.equal(passkeys.size, 0)

  const own = await passkeyOf('bob')
  const stolen = own.register(await challenges.toAdd('alice'))
  assert.equal(await add(stolen), 401, 'the id of a passkey of bob')
  const response = await post('/login/passkey', own.logIn(await challenges.toLogIn()))
  const headers = cookies(response)
  assert.equal((await app.inject({ url: '/me', headers })).json<{ id: number }>().id, 2)
})
