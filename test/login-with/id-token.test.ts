import { createSecretKey } from 'node:crypto'
import t, { type Test } from 'tap'
import { linesOf } from '../helpers/cookies.js'
import { goodKey, jwkOf } from '../helpers/issuer.js'
import { moreKeys } from '../helpers/keys.js'
import { clientSecret, isAttempt, loginApp, type LoginApp } from '../helpers/login-app.js'
import { startProvider, type TestProvider } from '../helpers/provider.js'
import { encode, epochSeconds, keys } from '../helpers/tokens.js'

type Json = Record<string, unknown>

/** A login whose ID token has a flaw, which is rejected. */
async function isRejected(t: Test, { logIn, last }: LoginApp, what: string, reason = /./) {
  const response = await logIn()
  t.equal(response.statusCode, 401, what)
  t.strictSame(JSON.parse(response.body), { error: 'The login was not successful.' }, what)
  t.ok(linesOf(response).every(isAttempt), `${what}: no session`)
  t.match(last(), { code: 'ERR_AUTH_LOGIN_INVALID', provider: 'corp', reason }, what)
}

t.test('an ID token by RS256, ES256 or EdDSA is accepted', async (t) => {
  const provider = await startProvider(t)
  for (const [alg, pair] of [
    ['RS256', keys.rsa],
    ['ES256', keys.p256],
    ['EdDSA', keys.ed25519],
  ] as const) {
    provider.published = [jwkOf(pair, { kid: alg, alg })]
    provider.idToken = { alg, key: pair.privateKey, header: { kid: alg } }
    const { logIn } = await loginApp(t, provider)
    t.equal((await logIn()).statusCode, 303, alg)
  }
})

t.test(
  'an ID token with a claim that is missing, wrong or of another type is rejected',
  async (t) => {
    const provider = await startProvider(t)
    const login = await loginApp(t, provider)
    const now = epochSeconds()
    const notString = [undefined, null, 7, true, {}, ['a']]
    const notTime = [undefined, null, '1', {}, [now]]
    const bad: Record<string, readonly unknown[]> = {
      iss: [...notString, '', 'https://evil.example', `${provider.url}/`, [provider.url]],
      aud: [undefined, null, 7, {}, '', 'SHOP', 'shop ', [], ['other'], [7], [['shop']]],
      azp: ['other', '', 'SHOP', null, 7, {}, ['shop']],
      nonce: [...notString, '', 'another'],
      sub: [...notString, '', 'a'.repeat(256), 'a\nb', 'a\0', '\u007f'],
      exp: [...notTime, now - 60, now - 7200],
      iat: [...notTime, now + 600],
      nbf: [null, '1', {}, [now], now + 600],
      auth_time: [null, '1', {}, -1],
    }
    for (const [claim, values] of Object.entries(bad)) {
      for (const value of values) {
        provider.idToken = { claims: { [claim]: value } }
        const reason = new RegExp(`^claim ${claim} of the ID token$`)
        await isRejected(t, login, `${claim}: ${JSON.stringify(value)}`, reason)
      }
    }
    provider.idToken = { claims: { aud: ['shop', 'other'] } }
    await isRejected(t, login, 'several audiences without azp', /claim (?:aud|azp)/)
    provider.idToken = { claims: { aud: ['shop', 'other'], azp: 'other' } }
    await isRejected(t, login, 'several audiences, azp of another', /azp/)
  },
)

t.test('an ID token is accepted at the limits', async (t) => {
  const provider = await startProvider(t)
  const { logIn } = await loginApp(t, provider, { username: () => 'alice' })
  const now = epochSeconds()
  const good: Json[] = [
    { aud: ['shop'] },
    { aud: ['shop', 'other'], azp: 'shop' },
    { azp: 'shop' },
    { azp: undefined, auth_time: undefined },
    { sub: 'a'.repeat(255) },
    { sub: 'é 😀' },
    { exp: now - 20 },
    { nbf: now + 20 },
    { iat: now + 20 },
  ]
  for (const claims of good) {
    provider.idToken = { claims }
    t.equal((await logIn()).statusCode, 303, JSON.stringify(claims))
  }
  const strict = await loginApp(t, provider, { clockTolerance: 0 })
  provider.idToken = { claims: { exp: epochSeconds() - 1 } }
  await isRejected(t, strict, 'clockTolerance 0', /exp/)
})

t.test('an ID token with another signature, algorithm or header is rejected', async (t) => {
  const provider = await startProvider(t)
  const login = await loginApp(t, provider)
  const secret = createSecretKey(Buffer.from(clientSecret))
  const pem = String(keys.p256.publicKey.export({ type: 'spki', format: 'pem' }))
  const { privateKey: otherKey } = moreKeys.otherP256
  const own = jwkOf(moreKeys.otherP256, {})
  const reasons: Record<string, RegExp> = {
    'another key': /^signature of the ID token$/,
    'an unknown kid': /kid/,
    'HS256 by the client secret': /^header alg/,
    'an unknown crit': /^header crit/,
    'alg none': /^header alg/,
    'a signature of zeros': /^signature/,
    'a JWE': /^id_token of/,
    'a list as content': /^id_token of/,
    'no token at all': /^id_token of/,
    'an empty string': /^id_token of/,
  }
  const bad: Record<string, TestProvider['idToken']> = {
    'another key': { key: otherKey },
    'a key in the header': { key: otherKey, header: { jwk: own } },
    'a key in the header without kid': { key: otherKey, header: { jwk: own, kid: undefined } },
    'an address of keys in the header': {
      key: otherKey,
      header: { jku: `${provider.url}/keys`, kid: 'x' },
    },
    'an unknown kid': { header: { kid: 'two' } },
    'HS256 by the client secret': { alg: 'HS256', key: secret },
    'HS256 by the public key': { alg: 'HS256', key: createSecretKey(Buffer.from(pem)) },
    'RS256 with the kid of another algorithm': { alg: 'RS256', key: keys.rsa.privateKey },
    'an unknown crit': { header: { crit: ['exp'] } },
    'crit b64': { header: { crit: ['b64'], b64: true } },
    'alg none': (good) => `${encode({ alg: 'none', kid: 'one' })}.${encode(good)}.`,
    'alg none and a signature': (good) => `${encode({ alg: 'none' })}.${encode(good)}.AAAA`,
    'no signature': (good) => `${encode({ alg: 'ES256', kid: 'one' })}.${encode(good)}.`,
    'a signature of zeros': (good) =>
      `${encode({ alg: 'ES256', kid: 'one' })}.${encode(good)}.${encode(Buffer.alloc(64))}`,
    'a JWE': () => `${encode({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.a.a.a`,
    'a list as content': () => `${encode({ alg: 'ES256', kid: 'one' })}.${encode([])}.AAAA`,
    'two parts': () => `${encode({ alg: 'ES256' })}.${encode({})}`,
    'no token at all': () => 'a token',
    'an empty string': () => '',
  }
  for (const [what, idToken] of Object.entries(bad)) {
    provider.idToken = idToken
    await isRejected(t, login, what, reasons[what])
  }
  const k = encode(clientSecret)
  provider.published = [{ kty: 'oct', kid: 'one', use: 'sig', alg: 'HS256', k }]
  provider.idToken = { alg: 'HS256', key: secret }
  await isRejected(t, login, 'HS256 by a secret that the provider publishes')
  provider.published = [goodKey]
  provider.idToken = {}
  for (const id_token of [undefined, null, 7, {}, ['a']]) {
    provider.response = { id_token }
    await isRejected(t, login, `id_token: ${JSON.stringify(id_token)}`, /^id_token of/)
  }
  provider.response = {}
  t.equal((await login.logIn()).statusCode, 303, 'the provider is good again')
})

t.test('a key of the provider is known at once, others are kept for ten minutes', async (t) => {
  const provider = await startProvider(t)
  const login = await loginApp(t, provider)
  const fetches = (): number => provider.take().filter((path) => path === '/keys').length
  const start = Date.now()
  let ahead = 0
  t.intercept(Date, 'now', { value: () => start + ahead * 1000 })
  for (const expected of [1, 0, 0]) {
    t.equal((await login.logIn()).statusCode, 303)
    t.equal(fetches(), expected)
  }
  provider.published = [jwkOf(keys.ed25519, { kid: 'two', alg: 'EdDSA' })]
  provider.idToken = { alg: 'EdDSA', key: keys.ed25519.privateKey, header: { kid: 'two' } }
  for (const expected of [1, 0]) {
    t.equal((await login.logIn()).statusCode, 303, 'rotated between two logins')
    t.equal(fetches(), expected)
  }
  provider.idToken = {}
  await isRejected(t, login, 'a key that is published no more')
  t.equal(fetches(), 1)
  provider.idToken = { alg: 'EdDSA', key: keys.ed25519.privateKey, header: { kid: 'two' } }
  for (ahead of [0, 170, 250, 599]) {
    t.equal((await login.logIn()).statusCode, 303)
    t.equal(fetches(), 0)
  }
  const known = provider.idToken
  provider.idToken = { header: { kid: 'three' } }
  provider.answers.set('/keys', (response) => response.writeHead(500).end())
  t.equal((await login.logIn()).statusCode, 503, 'a key that is unknown')
  provider.idToken = known
  t.equal((await login.logIn()).statusCode, 303, 'those that are known work on')
  provider.answers.clear()
  fetches()
  ahead = 601
  t.equal((await login.logIn()).statusCode, 303)
  t.equal(fetches(), 1, 'so that a key that was withdrawn is not trusted for long')
})

t.test('with max_age the user must have authenticated since', async (t) => {
  const provider = await startProvider(t)
  const authorizationParams = { max_age: '600' }
  const login = await loginApp(t, provider, { authorizationParams })
  provider.idToken = { claims: { auth_time: epochSeconds() - 590 } }
  t.equal((await login.logIn()).statusCode, 303)
  for (const auth_time of [undefined, epochSeconds() - 700, '1', null]) {
    provider.idToken = { claims: { auth_time } }
    await isRejected(t, login, `auth_time: ${auth_time}`, /^claim auth_time/)
  }
})
