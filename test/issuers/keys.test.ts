import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { readJwks } from '../../lib/issuers/keys.js'
import { forge } from '../../lib/testing/forge.js'
import { goodKey, jwkOf } from '../helpers/issuer.js'
import { methodCases, moreKeys } from '../helpers/keys.js'
import { claims, keys } from '../helpers/tokens.js'

const rsa = (more: object): object => jwkOf(keys.rsa, more)
const ec = (more: object): object => jwkOf(keys.p256, more)
const hmac = { kty: 'oct', kid: 'x', k: Buffer.alloc(64, 'k').toString('base64url') }

/** The methods of the keys that are left. */
function methods(list: unknown[], algorithms?: Parameters<typeof readJwks>[1]): object {
  const { keys: found } = readJwks({ keys: [goodKey, ...list] }, algorithms)
  return Object.fromEntries(
    [...found].map(([kid, verifiers]) => [kid, [...verifiers.keys()].join()]),
  )
}

t.test('a key without alg verifies one algorithm, by its kind', async (t) => {
  const list = [
    rsa({ kid: 'rsa' }),
    jwkOf(keys.p384, { kid: 'p384' }),
    jwkOf(keys.p521, { kid: 'p521' }),
    jwkOf(keys.ed25519, { kid: 'ed25519' }),
    jwkOf(moreKeys.ed448, { kid: 'ed448' }),
    rsa({ kid: 'more', key_ops: ['verify'], x5c: ['AAAA'], x5t: 'x', n2: 1 }),
    { ...rsa({ kid: 'no use', alg: 'PS384' }), use: undefined },
    jwkOf(generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }), { kid: 'e3' }),
  ]
  t.strictSame(methods(list), {
    one: 'ES256',
    rsa: 'RS256',
    p384: 'ES384',
    p521: 'ES512',
    ed25519: 'EdDSA',
    ed448: 'EdDSA',
    more: 'RS256',
    'no use': 'PS384',
    e3: 'RS256',
  })
})

t.test('only the algorithms that the app accepts are verified', async (t) => {
  const all = [rsa({ kid: 'a' }), rsa({ kid: 'b', alg: 'PS256' }), rsa({ kid: 'c', alg: 'RS512' })]
  const accepted = { one: 'ES256', a: 'RS256,PS256', b: 'PS256' }
  t.strictSame(methods(all, ['ES256', 'RS256', 'PS256']), accepted)
  t.strictSame(methods(all, ['ES256']), { one: 'ES256' })
})

t.test('each key verifies by its own algorithm only', async (t) => {
  for (const { title, method, pair } of methodCases) {
    if (pair === null) continue
    const set = readJwks({ keys: [jwkOf(pair, { kid: 'x', alg: method })] }, undefined)
    const verifiers = set.keys.get('x')
    t.strictSame([...(verifiers?.keys() ?? [])], [method], title)
    const token = forge({ alg: method, kid: 'x' }, claims(), method, pair.privateKey)
    t.equal(verifiers?.get(method)?.(token).claims.sub, 'alice', title)
  }
})

const privateRsa = keys.rsa.privateKey.export({ format: 'jwk' })
const leftOut: [string, unknown][] = [
  ['a secret', hmac],
  ['a secret that claims to be RSA', { ...hmac, alg: 'RS256' }],
  ['a private RSA key', { ...privateRsa, kid: 'x', use: 'sig' }],
  ['a private EC key', { ...keys.p384.privateKey.export({ format: 'jwk' }), kid: 'x' }],
  ['a private Ed25519 key', { ...keys.ed25519.privateKey.export({ format: 'jwk' }), kid: 'x' }],
  ['one prime of an RSA key', rsa({ kid: 'x', p: privateRsa.p })],
  ['a private member that is null', rsa({ kid: 'x', d: null })],
  ['a key with a secret beside it', rsa({ kid: 'x', k: 'AAAA' })],
  ['for encryption', rsa({ kid: 'x', use: 'enc' })],
  ['use in a list', rsa({ kid: 'x', use: ['sig'] })],
  ['operations without verify', rsa({ kid: 'x', key_ops: ['encrypt'] })],
  ['operations that are no list', rsa({ kid: 'x', key_ops: 'verify' })],
  ['RSA of 1024 bits', jwkOf(moreKeys.rsa1024, { kid: 'x' })],
  ['the exponent 1', rsa({ kid: 'x', e: 'AQ' })],
  ['no modulus', rsa({ kid: 'x', n: '' })],
  ['secp256k1', jwkOf(moreKeys.secp256k1, { kid: 'x' })],
  ['X25519', jwkOf(moreKeys.x25519, { kid: 'x' })],
  ['a curve that does not exist', ec({ kid: 'x', crv: 'P-999' })],
  ['a point off its curve', ec({ kid: 'x', x: Buffer.alloc(32, 1).toString('base64url') })],
  ['coordinates of another curve', ec({ kid: 'x', crv: 'P-384' })],
  ['without coordinates', { kty: 'EC', crv: 'P-256', kid: 'x' }],
  ['coordinates that are numbers', ec({ kid: 'x', y: 1 })],
  ['alg of another kind', rsa({ kid: 'x', alg: 'ES256' })],
  ['alg HS256', rsa({ kid: 'x', alg: 'HS256' })],
  ['alg none', rsa({ kid: 'x', alg: 'none' })],
  ['alg null', rsa({ kid: 'x', alg: null })],
  ['alg in a list', rsa({ kid: 'x', alg: ['RS256'] })],
  ['no kid', rsa({})],
  ['a number as kid', rsa({ kid: 1 })],
  ['kty in a list', { ...rsa({ kid: 'x' }), kty: ['RSA'] }],
  ['kty unknown', { ...rsa({ kid: 'x' }), kty: 'AKP' }],
  ['nothing', {}],
  ['null', null],
  ['a string', 'RSA'],
  ['a list', [rsa({ kid: 'x' })]],
]
/** Keys of which the set has another one with the same `kid`, whatever is wrong with that. */
const twice = [rsa({ kid: 'one' }), ec({ kid: 'one', use: 'enc' }), { ...hmac, kid: 'one' }]

t.test('unusable, private and ambiguous keys are left out', async (t) => {
  const p384 = jwkOf(keys.p384, { kid: 'two' })
  for (const [what, key] of leftOut) {
    const set = readJwks({ keys: [key, goodKey] }, undefined)
    t.strictSame([[...set.keys.keys()], set.leftOut], [['one'], 1], what)
    t.throws(() => readJwks({ keys: [key] }, undefined), { message: /no usable key/ }, what)
  }
  for (const other of twice) {
    const set = readJwks({ keys: [goodKey, p384, other] }, undefined)
    t.strictSame([...set.keys.keys()], ['two'], 'of equal kids none is taken')
  }
  const list = [goodKey, { ...privateRsa, kid: 'a' }, rsa({ kid: 'b', d: '' }), hmac]
  t.match(readJwks({ keys: list }, undefined), { leftOut: 3, compromised: 2 })
})

t.test('a document that is no key set, or has no usable key, is rejected', async (t) => {
  const many = (count: number): unknown[] =>
    Array.from({ length: count }, (_, at) => ec({ kid: `${at}` }))
  const wrong: [unknown, RegExp][] = [
    [null, /not a key set/],
    [[], /not a key set/],
    ['keys', /not a key set/],
    [{}, /not a key set/],
    [{ keys: { length: 1, 0: goodKey } }, /not a key set/],
    [goodKey, /not a key set/],
    [{ keys: [] }, /no usable key/],
    [{ keys: many(101) }, /more than 100 keys/],
  ]
  for (const [document, message] of wrong) {
    t.throws(() => readJwks(document, undefined), { message })
  }
  t.equal(readJwks({ keys: many(100) }, undefined).keys.size, 100)
})
