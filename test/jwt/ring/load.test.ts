// What is wrong with entries whatever their keys are: entries.test.ts.
import { createHash } from 'node:crypto'
import t from 'tap'
import { loadRing } from '../../../lib/jwt/ring/load.js'
import { thumbprintOf } from '../../../lib/jwt/ring/thumbprint.js'
import { rejectionOf, reveals } from '../../helpers/errors.js'
import { encryptedPem, moreKeys, passphrase } from '../../helpers/keys.js'
import { memoryFs } from '../../helpers/memory-fs.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'
import type { KeyEntry, KeyFileEntry } from '../../../types/keys.js'

const pem = privatePem(keys.p256.privateKey)
const otherPem = privatePem(moreKeys.otherP256.privateKey)
const rsaPem = privatePem(keys.rsa.privateKey)
const secret = 'q7wT2mVx9KcR4nZs8LpYf3HbJ6dGuA5e'
const noFiles = memoryFs({})

const sign = { alg: 'ES256', private: pem, state: 'sign' } as const
const shared = { alg: 'HS256', secret, kid: 'k', state: 'verify' } as const

t.test('a list: keys as text and as paths', async (t) => {
  const fs = memoryFs({ 'keys/rsa.pem': rsaPem, '/etc/next.pem': Buffer.from(otherPem) })
  const ring = await loadRing(
    [
      sign,
      { ...sign, private: '/etc/next.pem', state: 'next' },
      { alg: 'RS256', private: 'keys/rsa.pem', state: 'sign', kid: 'mine' },
      { alg: 'EdDSA', public: publicPem(keys.ed25519.publicKey), state: 'verify' },
      { ...shared, legacy: true, until: '2027-01-01T00:00:00Z' },
    ],
    fs,
  )
  t.strictSame(
    ring.map(({ alg, kid, state, until, isLegacy }) => [alg, kid, state, until, isLegacy]),
    [
      ['ES256', thumbprintOf(keys.p256.publicKey), 'sign', Infinity, false],
      ['ES256', thumbprintOf(moreKeys.otherP256.publicKey), 'next', Infinity, false],
      ['RS256', 'mine', 'sign', Infinity, false],
      ['EdDSA', thumbprintOf(keys.ed25519.publicKey), 'verify', Infinity, false],
      ['HS256', 'k', 'verify', Date.UTC(2027, 0, 1), true],
    ],
  )
  const [first, , , edwards, hmac] = ring
  t.same(first?.jwk, keys.p256.publicKey.export({ format: 'jwk' }))
  t.equal(first?.key.sign, pem)
  t.equal(edwards?.key.sign, undefined)
  t.equal(hmac?.jwk, null)
  t.same(hmac?.key.verify, Buffer.from(secret))
  t.not(hmac?.id, createHash('sha256').update(secret).digest('hex'))
})

t.test(
  'a ring file: paths are relative to it, and passphrases are in the environment',
  async (t) => {
    const ring: KeyFileEntry[] = [
      { alg: 'ES256', private: 'a.pem', state: 'sign' },
      { alg: 'ES256', private: '../b.pem', state: 'next', passphraseEnv: 'AUTHN_TEST_RING' },
      { alg: 'RS256', private: '/c.pem', state: 'sign' },
      shared,
    ]
    const fs = memoryFs({
      'etc/keys/ring.json': JSON.stringify(ring),
      'etc/keys/a.pem': pem,
      'etc/b.pem': encryptedPem(moreKeys.otherP256.privateKey),
      '/c.pem': rsaPem,
    })
    const missing = await rejectionOf(loadRing('etc/keys/ring.json', fs))
    t.match(
      missing.message,
      /"jwt\.keys\[1\]\.passphraseEnv" \(ring file "etc\/keys\/ring\.json"\): names the environment variable AUTHN_TEST_RING, which is not set/,
    )
    process.env.AUTHN_TEST_RING = passphrase
    t.teardown(() => delete process.env.AUTHN_TEST_RING)
    const loaded = await loadRing('etc/keys/ring.json', fs)
    t.strictSame(
      loaded.map(({ kid }) => kid),
      [keys.p256, moreKeys.otherP256, keys.rsa]
        .map(({ publicKey }) => thumbprintOf(publicKey))
        .concat('k'),
    )
  },
)

/** What stops a list, and the same list in a file. */
async function errorsOf(
  list: unknown[],
): Promise<{ code: unknown; message: string; error: Error }[]> {
  const fs = memoryFs({ 'r.json': JSON.stringify(list) })
  return [
    await rejectionOf(loadRing(list as KeyEntry[], fs)),
    await rejectionOf(loadRing('r.json', fs)),
  ]
}

t.test('keys that are no good', async (t) => {
  const weak = privatePem(moreKeys.rsa1024.privateKey)
  const cases: [string, object, RegExp][] = [
    ['short secret', { ...shared, secret: 'x7Kq' }, /\[0\]\.secret".*: is 32 bits long, expected/],
    [
      'HS512',
      { ...shared, alg: 'HS512' },
      /\[0\]".*: is 256 bits long, expected at least 512 for HS/,
    ],
    ['PEM as secret', { ...shared, secret: pem }, /\[0\]\.secret".*holds a PEM key/],
    ['JWK as secret', { ...shared, secret: '{"kty":"oct","k":"AAAA"}' }, /a JSON Web Key/],
    ['RSA of 1024', { ...sign, alg: 'RS256', private: weak }, /\[0\]\.private".*RSA key of 1024/],
    ['wrong curve', { ...sign, alg: 'ES384' }, /\[0\]".*on the curve prime256v1, but ES384/],
    ['wrong kind', { ...sign, alg: 'RS256' }, /\[0\]\.private".*of type ec.*expected an RSA key/],
    [
      'public as private',
      { ...sign, private: publicPem(keys.p256.publicKey) },
      /holds a public key/,
    ],
    ['private as public', { alg: 'ES256', public: pem, state: 'verify' }, /holds a private key/],
    [
      'no such file',
      { ...sign, private: 'no.pem' },
      /\[0\]\.private".*file "no\.pem" cannot be read/,
    ],
    ['a secret as a path', { ...sign, private: secret }, /\[0\]\.private".*it is not shown/],
    ['no PEM', { ...sign, private: '-----BEGIN NONSENSE-----' }, /is no private key in PEM/],
    [
      'encrypted',
      { ...sign, private: encryptedPem(keys.p256.privateKey) },
      /\[0\]\.passphrase(?:Env)?"/,
    ],
  ]
  for (const [title, entry, message] of cases) {
    const errors = await errorsOf([entry])
    for (const { error, code } of errors) {
      t.match(error.message, message, title)
      t.equal(code, 'ERR_AUTH_KEY', title)
      t.notOk(reveals(error, secret) || reveals(error, pem), `${title}: nothing secret`)
    }
    t.match(errors[1]?.message, '(ring file "r.json")', title)
  }
  const [inList, ofFile] = await errorsOf([
    { ...sign, private: encryptedPem(keys.p256.privateKey) },
  ])
  t.match(inList?.message, 'Set jwt.keys[0].passphrase.')
  t.match(ofFile?.message, 'Set jwt.keys[0].passphraseEnv.')
})

t.test('one key once', async (t) => {
  const half = { alg: 'ES256', public: publicPem(keys.p256.publicKey), state: 'verify' }
  const kid = thumbprintOf(keys.p256.publicKey)
  const rsa = { alg: 'RS256', private: rsaPem, state: 'sign' }
  const cases: [object[], RegExp][] = [
    [[sign, { ...half, kid: 'other' }], /\[1\]".*: is the same key as jwt\.keys\[0\]\. Make/],
    [
      [rsa, { ...rsa, alg: 'PS256' }],
      /\[1\]".*as jwt\.keys\[0\], once for RS256 and once for PS256/,
    ],
    [[shared, { ...shared, kid: 'l' }], /\[1\]".*: is the same key/],
    [[sign, { ...shared, kid }], /\[1\]".*has the same "kid" as jwt\.keys\[0\]/],
  ]
  for (const [list, message] of cases) {
    for (const error of await errorsOf(list)) {
      t.match(error.message, message)
      t.equal(error.code, 'ERR_AUTH_KEY')
    }
  }
  const long = 'q7wT2mVx9KcR4nZs8LpYf3HbJ6dGuA5eq7wT2mVx9KcR4nZs8LpYf3HbJ6dGuA5x'
  const two = [
    { ...shared, secret: long },
    { ...shared, alg: 'HS512', secret: long, kid: 'l' },
  ]
  for (const { message } of await errorsOf(two))
    t.match(message, 'once for HS256 and once for HS512')
})

t.test('what is no ring file', async (t) => {
  const gone = await rejectionOf(loadRing('no/ring.json', noFiles))
  t.strictSame(
    [gone.code, gone.message],
    [
      'ERR_AUTH_KEY',
      'fastify-authn: option "jwt.keys": the ring file "no/ring.json" cannot be read (ENOENT). Give the path of a ring file, or make one with: npx fastify-authn keys init',
    ],
  )
  const odd = await rejectionOf(loadRing('x.json', { readFile: () => Promise.reject(new Error()) }))
  t.match(odd.message, 'cannot be read (unknown reason)')
  const texts = [
    pem,
    JSON.stringify([shared]),
    ` {"keys": [${secret}]}`,
    secret,
    `${secret}\n.json`,
  ]
  const fs = {
    readFile: (path: string) => Promise.reject(Object.assign(new Error(path), { code: 'ENOENT' })),
  }
  for (const text of texts) {
    const { code, message, error } = await rejectionOf(loadRing(text, fs))
    t.equal(code, 'ERR_AUTH_KEY')
    t.match(
      message,
      /"jwt\.keys": found what is no ring file that can be read \(ENOENT\); it is not/,
    )
    t.notOk(reveals(error, secret) || reveals(error, pem), text.slice(0, 20))
  }
})
