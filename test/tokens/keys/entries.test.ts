// The option jwt.keys: entries in the options and in a key set file.
import { createPublicKey } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import t from 'tap'
import {
  checkKeySetFile,
  parseKeySetFile,
  readKeyEntries,
} from '../../../lib/tokens/keys/entries.js'
import { publicJwk, thumbprintOf } from '../../../lib/tokens/keys/key.js'
import { rejectionOf, reveals, thrownBy, type CaughtError } from '../../helpers/errors.js'
import { encryptedPem, moreKeys, passphrase } from '../../helpers/keys.js'
import { memoryFs } from '../../helpers/memory-fs.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'
import type { KeyEntry, KeyFileEntry } from '../../../types/keys.js'

const pem = privatePem(keys.p256.privateKey)
const otherPem = privatePem(moreKeys.otherP256.privateKey)
const rsaPem = privatePem(keys.rsa.privateKey)
const secret = 'q7wT2mVx9KcR4nZs8LpYf3HbJ6dGuA5e'
const sign = { alg: 'ES256', private: pem, state: 'sign' } as const
const verify = { alg: 'ES256', public: publicPem(keys.p256.publicKey), state: 'verify' } as const
const shared = { alg: 'HS256', secret, kid: 'k', state: 'verify' } as const
const thumbprint = (pem: string): string => thumbprintOf(publicJwk(pem))

t.test('entries of a list give their keys as PEM or as paths', async (t) => {
  const fs = memoryFs({ 'keys/rsa.pem': rsaPem, '/etc/next.pem': Buffer.from(otherPem) })
  const loaded = await readKeyEntries(
    [
      { ...sign, since: '2026-11-22T06:00:00+01:00' },
      { ...sign, private: '/etc/next.pem', state: 'next' },
      { alg: 'RS256', private: 'keys/rsa.pem', state: 'sign', kid: 'mine' },
      { alg: 'EdDSA', public: publicPem(keys.ed25519.publicKey), state: 'verify' },
      { ...shared, secret: Buffer.from(secret), legacy: true, until: '2027-01-01T00:00Z' },
    ],
    fs,
  )
  t.strictSame(
    loaded.map(({ alg, kid, state, until, legacy }) => [alg, kid, state, until, legacy]),
    [
      ['ES256', thumbprint(publicPem(keys.p256.publicKey)), 'sign', Infinity, false],
      ['ES256', thumbprint(publicPem(moreKeys.otherP256.publicKey)), 'next', Infinity, false],
      ['RS256', 'mine', 'sign', Infinity, false],
      ['EdDSA', thumbprint(publicPem(keys.ed25519.publicKey)), 'verify', Infinity, false],
      ['HS256', 'k', 'verify', Date.UTC(2027, 0, 1), true],
    ],
  )
  const names = ['__proto__', 'constructor', 'toString']
  const secrets = names.map((kid, at) => ({ ...shared, kid, secret: `${secret}${at}` }))
  t.equal((await readKeyEntries(secrets, fs)).length, 3)
})

t.test('kid defaults to the thumbprint that jose computes (RFC 7638)', async (t) => {
  const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'
  const example = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  t.equal(thumbprint(publicPem(example)), 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k', 'RFC 8037')
  for (const { privateKey, publicKey } of Object.values({ ...keys, ed448: moreKeys.ed448 })) {
    const jwk = publicKey.export({ format: 'jwk' })
    t.equal(thumbprint(publicPem(publicKey)), await calculateJwkThumbprint(jwk as never))
    t.same(publicJwk(privatePem(privateKey)), jwk)
  }
})

t.test('paths in a key set file are relative to it, passphrases come from variables', async (t) => {
  const list: KeyFileEntry[] = [
    { alg: 'ES256', private: 'a.pem', state: 'sign' },
    { alg: 'ES256', private: '../b.pem', state: 'next', passphraseEnv: 'AUTHN_TEST' },
    { alg: 'RS256', private: '/c.pem', state: 'sign' },
    shared,
  ]
  const fs = memoryFs({
    'etc/keys/set.json': `\ufeff${JSON.stringify(list)}`,
    'etc/keys/a.pem': pem,
    'etc/b.pem': encryptedPem(moreKeys.otherP256.privateKey),
    '/c.pem': rsaPem,
  })
  const { message } = await rejectionOf(readKeyEntries('etc/keys/set.json', fs))
  t.match(message, /"jwt\.keys\[1\]\.passphraseEnv" \(key set file "etc\/keys\/set\.json"\): names/)
  t.match(message, /AUTHN_TEST, which is not set/)
  process.env.AUTHN_TEST = passphrase
  t.teardown(() => delete process.env.AUTHN_TEST)
  t.strictSame(
    (await readKeyEntries('etc/keys/set.json', fs)).map(({ state, bits }) => [state, bits]),
    [
      ['sign', undefined],
      ['next', undefined],
      ['sign', 2048],
      ['verify', 256],
    ],
  )
  const text = JSON.stringify(list)
  t.same(parseKeySetFile(text, 'x.json'), list)
  t.equal((await checkKeySetFile(text, 'etc/keys/new.json', fs)).length, 4, 'before it is written')
})

/** The errors of a list, and of the same list in a file. */
async function errorsOf(list: unknown): Promise<CaughtError[]> {
  const fs = memoryFs({ 'k.json': JSON.stringify(list) })
  return [
    await rejectionOf(readKeyEntries(list as KeyEntry[], fs)),
    await rejectionOf(readKeyEntries('k.json', fs)),
  ]
}

const option = 'ERR_AUTH_OPTION'
const key = 'ERR_AUTH_KEY'

t.test('a bad entry makes startup fail and shows no secret', async (t) => {
  const until = '2027-01-01T00:00:00Z'
  const weak = privatePem(moreKeys.rsa1024.privateKey)
  const encrypted = encryptedPem(keys.p256.privateKey)
  const cases: [unknown, string, RegExp][] = [
    ['ES256', option, /"jwt\.keys\[0\]": found an invalid string.*an object with alg, state/],
    [[], option, /"jwt\.keys\[0\]": found an array/],
    [{ ...verify, alg: 'none' }, option, /\.alg": found "none", expected one of HS256/],
    [{ ...verify, state: 'old' }, option, /\.state": found "old", expected next, sign or/],
    [{ ...verify, use: 'sig' }, option, /unknown option "jwt\.keys\[0\]\.use"/],
    [{ ...verify, public: undefined }, option, /found none of them.*, expected private or public/],
    [{ ...verify, private: pem }, option, /found private and public/],
    [{ ...verify, kid: '' }, option, /\.kid": found an empty string/],
    [{ ...verify, kid: 'a\nb' }, option, /\.kid".*without control characters/],
    [{ ...verify, kid: 'k'.repeat(257) }, option, /\.kid".*1 to 256 characters/],
    [{ ...verify, alg: 'HS256' }, option, /found public, expected secret for HS256/],
    [{ ...shared, alg: 'ES256' }, option, /found secret, expected private or public for ES256/],
    [{ ...shared, kid: undefined }, option, /\.kid".*: is missing.*token shows it/],
    [{ ...shared, kid: secret }, option, /\.kid".*: is the secret itself.*token shows it/],
    [{ ...verify, state: 'sign' }, option, /\.public".*cannot sign/],
    [{ ...verify, state: 'next' }, option, /\.public".*cannot sign/],
    [{ ...sign, state: 'next', until }, option, /\.until".*only a retired key/],
    [{ ...sign, until }, option, /\.until".*only a retired key/],
    [{ ...verify, until: '2027-01-01T00:00:00' }, option, /\.until".*with a zone/],
    [{ ...verify, until: '2027-13-01T00:00:00Z' }, option, /\.until".*with a zone/],
    [{ ...verify, until: '2027-02-31T00:00:00Z' }, option, /\.until".*2027-02-31 does not exist/],
    [{ ...verify, since: '2027-02-29T00:00+05:00' }, option, /\.since".*2027-02-29 does not exist/],
    [{ ...verify, until: 1 }, option, /\.until".*found 1, expected a time/],
    [{ ...verify, since: 'yesterday' }, option, /\.since".*expected a time in ISO 8601/],
    [{ ...verify, legacy: 'yes' }, option, /\.legacy".*expected true or false/],
    [{ ...shared, secret: 'x7Kq' }, key, /\.secret".*: is 32 bits long/],
    [{ ...shared, alg: 'HS512' }, key, /\.secret".*: is 256 bits long, expected .* 512 for HS512/],
    [{ ...sign, alg: 'RS256', private: weak }, key, /\.private".*is 1024 bits long/],
    [{ ...sign, alg: 'ES384' }, key, /\.private".*on the curve prime256v1, but ES384/],
    [{ ...sign, alg: 'RS256' }, key, /\.private".*of type ec, expected an RSA key/],
    [{ ...sign, private: encrypted }, key, /passphrase is missing.*\. Set .*"passphraseEnv"/],
  ]
  for (const [entry, expected, message] of cases) {
    const errors = await errorsOf([entry])
    for (const { error, code } of errors) {
      t.match(error.message.replace(/ \(key set file "k\.json"\)/, ''), message)
      t.equal(code, expected, error.message)
      t.notOk(reveals(error, secret) || reveals(error, pem), 'nothing secret')
    }
    t.match(errors[1]?.message, 'key set file "k.json"')
  }
  const inFile = (entry: object) => () => parseKeySetFile(JSON.stringify([entry]), 'k.json')
  const passphrases: [unknown, RegExp][] = [
    [
      readKeyEntries([{ ...sign, passphraseEnv: 'X' } as KeyEntry], memoryFs({})),
      /unknown option .*Env"/,
    ],
    [inFile({ ...sign, passphrase: 'very secret' }), /unknown option .*passphrase".*passphraseEnv/],
    [inFile({ ...sign, passphraseEnv: 'very secret' }), /the name of an environment variable/],
  ]
  for (const [attempt, expected] of passphrases) {
    const isCall = typeof attempt === 'function'
    const { message } = isCall ? thrownBy(attempt as () => unknown) : await rejectionOf(attempt)
    t.match(message, expected)
    t.notMatch(message, 'very secret')
  }
})

t.test('two entries with the same key, kid or role make startup fail', async (t) => {
  const rsa = { alg: 'RS256', private: rsaPem, state: 'sign' }
  const next = { ...sign, private: otherPem, state: 'next' }
  const kid = thumbprint(verify.public)
  const cases: [object[], string, string][] = [
    [[sign, { ...verify, kid: 'other' }], key, 'the same key as jwt.keys[0]'],
    [[rsa, { ...rsa, alg: 'PS256' }], key, 'the same key as jwt.keys[0]'],
    [[shared, { ...shared, kid: 'l' }], key, 'the same key'],
    [[sign, { ...shared, kid }], option, 'the same "kid" as jwt.keys[0]'],
    [
      [
        { ...sign, kid: 'k' },
        { ...next, kid: 'k' },
      ],
      option,
      'the same "kid"',
    ],
    [[sign, shared, { ...next, state: 'sign' }], option, 'the state sign as jwt.keys[0]'],
    [
      [
        { ...sign, legacy: true },
        { ...next, legacy: true },
      ],
      option,
      'legacy true as jwt.keys[0]',
    ],
  ]
  for (const [list, expected, text] of cases) {
    for (const { message, code } of await errorsOf(list)) {
      t.match(message, text)
      t.equal(code, expected)
    }
  }
})

t.test('a key set file must be a JSON array, and inherited members do not count', async (t) => {
  for (const list of [[], {}, 'x', null, 1]) {
    const { message } = thrownBy(() => parseKeySetFile(JSON.stringify(list), 'k.json'))
    t.match(message, /"jwt\.keys" \(key set file "k\.json"\): expected an array/)
  }
  for (const text of ['', '[', `[{"secret": ${secret}}]`, '[1,]', '\u0000']) {
    const { message, error } = thrownBy(() => parseKeySetFile(text, 'k.json'))
    t.match(message, /"jwt\.keys" \(key set file "k\.json"\): the file is not JSON/)
    t.notOk(reveals(error, secret))
  }
  const prototype = Object.prototype as { legacy?: unknown }
  prototype.legacy = true
  t.teardown(() => delete prototype.legacy)
  t.equal((await readKeyEntries([sign], memoryFs({})))[0]?.legacy, false, 'nothing is inherited')
})
