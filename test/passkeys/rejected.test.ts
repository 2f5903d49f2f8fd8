// What is no response of a passkey for this app, user and challenge. Nothing tells why, nor who exists, but the log.
import t from 'tap'
import { answerOf } from '../helpers/accounts.js'
import { androidAttestation } from '../helpers/attestation.js'
import {
  assertionOf,
  at,
  attestationOf,
  base64url,
  be,
  bs,
  cbor,
  credentialOf,
  handleOf,
  up,
  uv,
  type Changes,
  type Credential,
} from '../helpers/authenticator.js'
import { browser, passkeysApp, type PasskeysApp } from '../helpers/passkeys.js'
import { startServer } from '../helpers/server.js'

const invalid = '403 ERR_AUTH_PASSKEY_INVALID'
const expired = '401 ERR_AUTH_LOGIN_EXPIRED'

/** Adds a credential to a user. @returns the answer */
async function addTo(
  { ask, post, logIn }: PasskeysApp,
  credential: Credential,
  changes: Changes = {},
  user = 1,
) {
  const headers = await logIn(user)
  const { token, publicKey } = await ask('/passkeys/options', headers)
  const response = attestationOf(credential, publicKey.challenge, changes)
  return answerOf(await post('/passkeys', { token, response }, headers)).slice(0, 32)
}

async function enter({ ask, post }: PasskeysApp, credential: Credential, changes: Changes = {}) {
  const { token, publicKey } = await ask('/login/passkey/options')
  const response = assertionOf(credential, publicKey.challenge, changes)
  const sent = await post('/login/passkey', { token, response })
  return { answer: answerOf(sent), body: sent.body }
}

/** Of both ceremonies. */
const wrong: Record<string, Changes> = {
  'another type': { client: { type: 'payment.get' } },
  'another challenge': { client: { challenge: base64url('x'.repeat(32)) } },
  'a challenge that is no text': { client: { challenge: 7 } },
  'another origin': { client: { origin: 'https://evil.example' } },
  'an origin below': { client: { origin: 'https://a.shop.example' } },
  'an origin with a slash': { client: { origin: 'https://shop.example/' } },
  'an origin with a port': { client: { origin: 'https://shop.example:8443' } },
  'no TLS': { client: { origin: 'http://shop.example' } },
  'a list of origins': { client: { origin: ['https://shop.example'] } },
  'a frame of another origin': { client: { crossOrigin: true } },
  'a frame that is not told clearly': { client: { crossOrigin: 'false' } },
  'a frame with its page': { client: { crossOrigin: true, topOrigin: 'https://evil.example' } },
  'a page around it': { client: { topOrigin: 'https://shop.example' } },
  'another domain': { rpId: 'evil.example' },
  'a domain above': { rpId: 'example' },
  'no user verification': { flags: up },
  'no user': { flags: uv },
  'synchronized, but not able to': { flags: up | uv | bs },
}

t.test('what an authenticator or a browser has signed for something else', async (t) => {
  const app = await passkeysApp(t)
  const credential = credentialOf(1)
  t.match(await addTo(app, credential), /^201/)
  for (const [name, changes] of Object.entries(wrong)) {
    t.equal((await enter(app, credential, changes)).answer, invalid, `log-in: ${name}`)
    const flags = changes.flags === undefined ? {} : { flags: changes.flags | at }
    const type = changes.client?.type === undefined ? {} : { client: { type: 'webauthn.get' } }
    const other = await addTo(app, credentialOf(1), { ...changes, ...flags, ...type })
    t.equal(other, invalid, `new passkey: ${name}`)
  }
  t.equal((await enter(app, credential, { flags: up | uv | be | bs })).answer, '200 tokens')
  t.equal(app.table.length, 1)
})

t.test('new passkeys that are none', async (t) => {
  const app = await passkeysApp(t)
  const object = (fmt: string, statement: Map<string, Buffer | string>) =>
    base64url(
      cbor(
        new Map<string, never>([
          ['fmt', fmt as never],
          ['attStmt', statement as never],
        ]),
      ),
    )
  const statement = new Map([['sig', Buffer.from('x')]])
  const bad: Record<string, Changes> = {
    'without a credential': { flags: up | uv },
    'no attestation object': { response: { attestationObject: base64url('x') } },
    'an attestation object that lacks its data': {
      response: { attestationObject: object('none', new Map()) },
    },
    'an attestation that is wrong': {
      response: { attestationObject: object('packed', statement) },
    },
    'another id': { whole: { id: base64url('other'), rawId: base64url('other') } },
    'two ids': { whole: { rawId: base64url('other') } },
  }
  for (const [name, changes] of Object.entries(bad))
    t.equal(await addTo(app, credentialOf(1), changes), invalid, name)
  t.equal(await addTo(app, { ...credentialOf(1), alg: -35 }), invalid, 'an algorithm not asked for')
  const long = { ...credentialOf(1), id: Buffer.alloc(1024, 7) }
  t.equal(await addTo(app, long), invalid, 'an id that is too long')
  t.match(await addTo(app, { ...long, id: Buffer.alloc(1023, 7) }), /^201/)
  t.equal(await addTo(app, { ...long, id: Buffer.alloc(1023, 7) }, {}, 2), invalid, 'a taken id')
})

t.test('no address is fetched that an attestation names', async (t) => {
  const { ask, post, logIn } = await passkeysApp(t)
  let requests = 0
  const { url } = await startServer(t, (_, response) => {
    requests += 1
    response.end()
  })
  const headers = await logIn()
  const { token, publicKey } = await ask('/passkeys/options', headers)
  const response = androidAttestation(credentialOf(1), publicKey.challenge, `${url}/`)
  t.match(answerOf(await post('/passkeys', { token, response }, headers)), /^201/)
  t.equal(requests, 0)
})

const values = [undefined, null, 7, true, '', 'ä', '====', '\u0000', {}, [], ['x'], 'x', 'AAAA']

/** The response with another value at a place, for each place. */
function* malformed(response: Record<string, unknown>): Generator<[string, unknown]> {
  const inner = response.response as Record<string, unknown>
  for (const value of values) {
    for (const name of ['id', 'rawId', 'type', 'response'])
      yield [`${name}: ${JSON.stringify(value)}`, { ...response, [name]: value }]
    for (const name of Object.keys(inner)) {
      // They are hints.
      if (name === 'transports') continue
      yield [
        `response.${name}: ${JSON.stringify(value)}`,
        { ...response, response: { ...inner, [name]: value } },
      ]
    }
  }
  const data = (text: string) => ({
    ...response,
    response: { ...inner, clientDataJSON: base64url(text) },
  })
  for (const text of ['null', '[]', '"x"', '7', '{', '{}', '\ufeff{}', '<secret-page>'])
    yield [`client data ${text}`, data(text)]
  const client = JSON.parse(
    Buffer.from(String(inner.clientDataJSON), 'base64url').toString(),
  ) as object
  const tokenBinding = { status: 'secret-page' }
  yield ['another token binding', data(JSON.stringify({ ...client, tokenBinding }))]
}

t.test('a malformed field is a 403, and what was sent is not in the log', async (t) => {
  const app = await passkeysApp(t)
  const { ask, post, logIn, lines } = app
  const credential = credentialOf(1)
  await addTo(app, credential)
  const headers = await logIn()
  const ceremonies = [
    ['/login/passkey', assertionOf, {}],
    ['/passkeys', attestationOf, headers],
  ] as const
  for (const [url, make, own] of ceremonies) {
    const { token, publicKey } = await ask(`${url}/options`, own)
    const response = make(url === '/passkeys' ? credentialOf(1) : credential, publicKey.challenge)
    for (const [name, other] of malformed(response)) {
      const sent = answerOf(await post(url, { token, response: other as object }, own))
      // Without an object there is no response at all.
      const isNone = name.startsWith('response: ')
      t.equal(sent, isNone && !sent.startsWith('403') ? sent : invalid, `${url}: ${name}`)
      t.notMatch(sent, /^[25]/, name)
    }
    t.match(answerOf(await post(url, { token, response }, own)), /^20[01]/, 'it was all right')
  }
  t.notMatch(lines.join(''), /secret-page|webauthn\.|"level":50/)
})

t.test('tokens of another ceremony, user, registration or time', async (t) => {
  const app = await passkeysApp(t)
  const { ask, post, logIn } = app
  const other = await passkeysApp(t, {}, { login: { path: '/other/login', subject: () => 1 } })
  const credential = credentialOf(1)
  await addTo(app, credential)
  const headers = await logIn()
  const login = await ask('/login/passkey/options')
  const add = await ask('/passkeys/options', headers)
  const ofOther = await ask('/passkeys/options', await logIn(2))
  const foreign = await other.ask('/other/login/passkey/options')
  const { authorization = '' } = headers
  const assert = async ({ token, publicKey }: typeof login) =>
    answerOf(
      await post('/login/passkey', {
        token,
        response: assertionOf(credential, publicKey.challenge),
      }),
    )
  for (const asked of [add, foreign]) t.equal(await assert(asked), expired)
  for (const token of ['x', `${login.token}x`, authorization.slice(7), login.token.slice(0, -2)])
    t.equal(await assert({ ...login, token }), expired)
  const attest = async ({ token, publicKey }: typeof login) => {
    const response = attestationOf(credentialOf(1), publicKey.challenge)
    return answerOf(await post('/passkeys', { token, response }, headers))
  }
  for (const asked of [login, ofOther]) t.equal(await attest(asked), expired)
  t.equal(await assert({ ...login, publicKey: add.publicKey }), invalid, 'another challenge')
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() + 601_000 })
  t.equal(await assert(login), expired, 'after ten minutes')
})

t.test('nothing tells who exists', async (t) => {
  const app = await passkeysApp(t)
  const { ask, post, found, table } = app
  const credential = credentialOf(1)
  await addTo(app, credential)
  await addTo(app, credentialOf(2), {}, 2)
  const options = []
  for (let count = 0; count < 2; count += 1) {
    const { token, publicKey } = await ask('/login/passkey/options')
    options.push(JSON.stringify({ length: token.length, ...publicKey, challenge: '' }))
  }
  t.equal(options[0], options[1])
  found.length = 0
  const stranger = credentialOf(1)
  const handles = [
    1,
    '1',
    2,
    3,
    99,
    'alice@example.com',
    '',
    null,
    true,
    [1],
    { sub: 1 },
    'a\u0000',
  ]
  for (const sub of handles) {
    const userHandle = handleOf(sub)
    const { answer, body } = await enter(app, { ...stranger, userHandle })
    t.equal(`${answer} ${body}`, `${invalid} {"code":"ERR_AUTH_PASSKEY_INVALID"}`, userHandle)
  }
  for (const userHandle of [
    base64url('{'),
    base64url('1 '),
    base64url('1e400'),
    base64url('1e19'),
    base64url('1.5'),
    base64url('-9223372036854775809'),
    base64url('\u0000'),
  ])
    t.equal((await enter(app, { ...stranger, userHandle })).answer.slice(0, 3), '403')
  t.strictSame(found, [1, '1', 2, 3, 99, 'alice@example.com', 1], 'only names are looked up')
  const [first] = table
  const id = Buffer.from(String(first?.data.id), 'base64url')
  for (const sub of [2, 'alice@example.com'])
    t.equal(
      (await enter(app, { ...credential, userHandle: handleOf(sub) })).answer,
      invalid,
      'another user',
    )
  t.equal((await enter(app, { ...stranger, id })).answer, invalid, 'another key')
  t.equal((await enter(app, credential)).answer, '200 tokens')
  const { token, publicKey } = await ask('/login/passkey/options')
  const response = assertionOf(credential, publicKey.challenge)
  const flip = response.response as Record<string, unknown>
  flip.signature = base64url(Buffer.from(String(flip.signature), 'base64url').fill(0, 8, 12))
  t.equal(answerOf(await post('/login/passkey', { token, response })), invalid, 'a wrong signature')
})

t.test('a response works once, also at once', async (t) => {
  const app = await passkeysApp(t)
  const { answer, post, add, logIn, table } = app
  // All challenges are of one millisecond, in which none may stand in for another.
  const now = Date.now()
  t.intercept(Date, 'now', { value: () => now })
  const passkey = browser()
  const headers = await logIn()
  await add(passkey, headers)
  const [older, twenty] = [await answer(passkey), await answer(passkey)]
  const all = await Promise.all(Array.from({ length: 20 }, () => post('/login/passkey', twenty)))
  const answers = all.map(answerOf).sort()
  t.strictSame(answers, ['200 tokens', ...Array<string>(19).fill(invalid)])
  t.equal(answerOf(await post('/login/passkey', older)), '200 tokens')
  const { token, publicKey } = await app.ask('/passkeys/options', headers)
  const response = passkey.create({ ...publicKey, excludeCredentials: [] })
  const twice = [1, 2].map(() => post('/passkeys', { token, response }, headers))
  t.strictSame((await Promise.all(twice)).map(({ statusCode }) => String(statusCode)).sort(), [
    '201',
    '403',
  ])
  t.equal(table.length, 2)
})

t.test('wrong responses of a client are counted, before users are looked up', async (t) => {
  const throttle = { perAddress: 3, window: 60 }
  const app = await passkeysApp(t, {}, { throttle })
  const credential = credentialOf(1)
  await addTo(app, credential)
  for (let count = 0; count < 3; count += 1)
    t.equal((await enter(app, credential, { rpId: 'evil.example' })).answer, invalid)
  app.found.length = 0
  const { token, publicKey } = await app.ask('/login/passkey/options')
  const response = assertionOf(credential, publicKey.challenge)
  const sent = await app.post('/login/passkey', { token, response })
  t.equal(answerOf(sent), '429 ERR_AUTH_TOO_MANY_ATTEMPTS')
  t.match(sent.headers['retry-after'], /^\d+$/)
  t.strictSame(app.found, [])
  const { statusCode } = await app.app.inject({
    method: 'POST',
    url: '/login/passkey',
    payload: { token, response },
    remoteAddress: '192.0.2.7',
  })
  t.equal(statusCode, 200, 'another client')
})
