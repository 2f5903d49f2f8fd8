import t from 'tap'
import { signingMethods } from '../../../lib/common/algorithms.js'
import { parseKeys } from '../../../lib/jwt/keys/parse.js'
import { keyError, keyFor } from '../../../lib/jwt/keys/ring.js'
import { thrownBy } from '../../helpers/errors.js'
import { hmacSecret } from '../../helpers/keys.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'

const rsa = { private: privatePem(keys.rsa.privateKey), public: publicPem(keys.rsa.publicKey) }
const ec = { private: privatePem(keys.p256.privateKey), public: publicPem(keys.p256.publicKey) }
const noFiles = new Map<string, string>()

t.test('an error names the option, what is wrong, and what to do', async (t) => {
  const cause = new Error('why')
  const full = thrownBy(() => keyError('jwt.rsa', 'is bad.', 'Mend it.', cause))
  t.strictSame(
    [full.code, full.message, full.error.cause],
    ['ERR_AUTH_KEY', 'fastify-authn: option "jwt.rsa": is bad. Mend it.', cause],
  )
  const short = thrownBy(() => keyError('jwt.rsa', 'is bad.'))
  t.equal(short.message, 'fastify-authn: option "jwt.rsa": is bad.')
})

t.test('the key of a method', async (t) => {
  const eddsa = { private: privatePem(keys.ed25519.privateKey) }
  const ring = parseKeys({ secret: hmacSecret, rsa, ecdsa: ec, eddsa }, noFiles)
  const expected = {
    HS256: [hmacSecret, hmacSecret],
    HS384: [hmacSecret, hmacSecret],
    HS512: [hmacSecret, hmacSecret],
    RS256: [rsa.private, rsa.public],
    RS384: [rsa.private, rsa.public],
    RS512: [rsa.private, rsa.public],
    PS256: [rsa.private, rsa.public],
    PS384: [rsa.private, rsa.public],
    PS512: [rsa.private, rsa.public],
    ES256: [ec.private, ec.public],
    EdDSA: [eddsa.private, publicPem(keys.ed25519.publicKey)],
  }
  for (const [method, texts] of Object.entries(expected)) {
    const found = (['sign', 'verify'] as const).map((use) =>
      String(keyFor(ring, method as 'HS256', use, 'the test')),
    )
    t.strictSame(found, texts, method)
  }
})

t.test('no key', async (t) => {
  for (const method of signingMethods) {
    for (const use of ['sign', 'verify'] as const) {
      const { code, message } = thrownBy(() => keyFor({}, method, use, 'the login'))
      t.equal(code, 'ERR_AUTH_KEY', method)
      t.match(
        message,
        /option "jwt\.(?:secret|rsa|ecdsa|eddsa)": is missing, but the login needs it for \w+\. Set it, or choose another signing method\.$/,
      )
      t.ok(message.includes(` for ${method}.`), message)
    }
  }
})

t.test('a ring that only verifies', async (t) => {
  const ring = parseKeys({ rsa: { public: rsa.public } }, noFiles)
  t.equal(keyFor(ring, 'RS256', 'verify', 'x'), rsa.public)
  const { code, message } = thrownBy(() => keyFor(ring, 'RS256', 'sign', 'the login'))
  t.equal(code, 'ERR_AUTH_KEY')
  t.equal(
    message,
    'fastify-authn: option "jwt.rsa.private": is missing, but the login needs it to sign. Set it.',
  )
})

t.test('a secret that is too short for the method (RFC 7518 §3.2)', async (t) => {
  for (const [method, bytes] of [
    ['HS256', 32],
    ['HS384', 48],
    ['HS512', 64],
  ] as const) {
    const enough = parseKeys({ secret: 'x'.repeat(bytes) }, noFiles)
    t.equal(keyFor(enough, method, 'sign', 'x').length, bytes, method)
    const short = { secret: { sign: '', verify: '', bits: bytes * 8 - 8 } }
    for (const use of ['sign', 'verify'] as const) {
      const { code, message } = thrownBy(() => keyFor(short, method, use, 'the login'))
      t.equal(code, 'ERR_AUTH_KEY', method)
      t.match(
        message,
        `option "jwt.secret": is ${bytes * 8 - 8} bits long, expected at least ${bytes * 8} for ${method} (the login). Make one with: node -p`,
      )
    }
  }
})

t.test('a curve of another method (RFC 7518 §3.4)', async (t) => {
  const curves = { ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' } as const
  const pairs = { ES256: keys.p256, ES384: keys.p384, ES512: keys.p521 } as const
  for (const own of Object.keys(pairs) as (keyof typeof pairs)[]) {
    const ring = parseKeys({ ecdsa: { private: privatePem(pairs[own].privateKey) } }, noFiles)
    for (const method of Object.keys(pairs) as (keyof typeof pairs)[]) {
      if (method === own) {
        t.equal(keyFor(ring, method, 'sign', 'x'), privatePem(pairs[own].privateKey), method)
        continue
      }
      const { code, message } = thrownBy(() => keyFor(ring, method, 'verify', 'the login'))
      t.equal(code, 'ERR_AUTH_KEY')
      t.equal(
        message,
        `fastify-authn: option "jwt.ecdsa": is on the curve ${curves[own]}, but ${method} (the login) needs ${curves[method]}. Give a key on that curve, or choose the signing method of this one.`,
      )
    }
  }
})
