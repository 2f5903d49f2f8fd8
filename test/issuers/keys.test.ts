import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { readKeySet } from '../../lib/issuers/keys.js'
import { forge } from '../../lib/testing/forge.js'
import { goodKey, jwkOf } from '../helpers/issuer.js'
import { methodCases, moreKeys } from '../helpers/keys.js'
import { claims, keys } from '../helpers/tokens.js'

const rsa = (more: object): object => jwkOf(keys.rsa, more)
const ec = (more: object): object => jwkOf(keys.p256, more)
const hmac = { kty: 'oct', kid: 'x', k: Buffer.alloc(64, 'k').toString('base64url') }

const noneLeft = 'the set has no key that can be used'

/** The methods of the keys that are left. */
function methods(list: unknown[], algorithms?: Parameters<typeof readKeySet>[1]): object {
  const { keys: found } = readKeySet({ keys: [goodKey, ...list] }, algorithms)
  return Object.fromEntries(
    [...found].map(([kid, { verifiers }]) => [kid, [...verifiers.keys()].join()]),
  )
}

t.test('a key without alg stands for one method, by its kind', async (t) => {
  t.strictSame(
    methods([
      rsa({ kid: 'rsa' }),
      jwkOf(keys.p384, { kid: 'p384' }),
      jwkOf(keys.p521, { kid: 'p521' }),
      jwkOf(keys.ed25519, { kid: 'ed25519' }),
      jwkOf(moreKeys.ed448, { kid: 'ed448' }),
      rsa({ kid: 'operations', key_ops: ['verify'], x5c: ['AAAA'], x5t: 'x', n2: 1 }),
    ]),
    {
      one: 'ES256',
      rsa: 'RS256',
      p384: 'ES384',
      p521: 'ES512',
      ed25519: 'EdDSA',
      ed448: 'EdDSA',
      operations: 'RS256',
    },
  )
  const { use: _, ...withoutUse } = rsa({ kid: 'no use', alg: 'PS384' }) as { use: string }
  t.strictSame(methods([withoutUse]), { one: 'ES256', 'no use': 'PS384' })
})

t.test('the app may say which methods it accepts', async (t) => {
  const all = [rsa({ kid: 'a' }), rsa({ kid: 'b', alg: 'PS256' }), rsa({ kid: 'c', alg: 'RS512' })]
  t.strictSame(methods(all, ['ES256', 'RS256', 'PS256']), {
    one: 'ES256',
    a: 'RS256,PS256',
    b: 'PS256',
  })
  t.strictSame(methods(all, ['ES256']), { one: 'ES256' })
})

t.test('each verifies by its method', async (t) => {
  for (const { title, method, pair, family } of methodCases) {
    if (pair === null) continue
    const set = readKeySet({ keys: [jwkOf(pair, { kid: 'x', alg: method })] }, undefined)
    const verify = set.keys.get('x')?.verifiers.get(method)?.()
    t.ok(verify, title)
    const token = forge({ alg: method, kid: 'x' }, claims(), method, pair.privateKey)
    t.equal(verify?.(token).claims.sub, 'alice', title)
    t.equal(set.keys.get('x')?.verifiers.get(method)?.(), verify, 'made once')
    t.equal(set.keys.get('x')?.verifiers.size, 1, `${family}: no other method`)
  }
})

const weak = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 })
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
  ['use null', rsa({ kid: 'x', use: null })],
  ['use in a list', rsa({ kid: 'x', use: ['sig'] })],
  ['operations without verify', rsa({ kid: 'x', key_ops: ['encrypt'] })],
  ['operations that are no list', rsa({ kid: 'x', key_ops: 'verify' })],
  ['RSA of 1024 bits', jwkOf(moreKeys.rsa1024, { kid: 'x' })],
  ['secp256k1', jwkOf(moreKeys.secp256k1, { kid: 'x' })],
  ['X25519', jwkOf(moreKeys.x25519, { kid: 'x' })],
  ['a curve that does not exist', ec({ kid: 'x', crv: 'P-999' })],
  ['a curve from the prototype', ec({ kid: 'x', crv: '__proto__' })],
  [
    'a point that is not on its curve',
    ec({ kid: 'x', x: Buffer.alloc(32, 1).toString('base64url') }),
  ],
  ['coordinates of another curve', ec({ kid: 'x', crv: 'P-384' })],
  ['without coordinates', { kty: 'EC', crv: 'P-256', kid: 'x' }],
  ['coordinates that are numbers', ec({ kid: 'x', y: 1 })],
  ['the exponent 1', rsa({ kid: 'x', e: 'AQ' })],
  ['no modulus', rsa({ kid: 'x', n: '' })],
  ['alg of another kind', rsa({ kid: 'x', alg: 'ES256' })],
  ['alg HS256', rsa({ kid: 'x', alg: 'HS256' })],
  ['alg none', rsa({ kid: 'x', alg: 'none' })],
  ['alg for encryption', rsa({ kid: 'x', alg: 'RSA-OAEP' })],
  ['alg null', rsa({ kid: 'x', alg: null })],
  ['alg in a list', rsa({ kid: 'x', alg: ['RS256'] })],
  ['no kid', rsa({})],
  ['a number as kid', rsa({ kid: 1 })],
  ['kid null', rsa({ kid: null })],
  ['kty in a list', { ...rsa({ kid: 'x' }), kty: ['RSA'] }],
  ['kty unknown', { ...rsa({ kid: 'x' }), kty: 'AKP' }],
  ['kty constructor', { ...rsa({ kid: 'x' }), kty: 'constructor' }],
  ['nothing', {}],
  ['null', null],
  ['a text', 'RSA'],
  ['a list', [rsa({ kid: 'x' })]],
]

t.test('what cannot be used is left out', async (t) => {
  for (const [what, key] of leftOut) {
    const set = readKeySet({ keys: [key, goodKey] }, undefined)
    t.strictSame([[...set.keys.keys()], set.leftOut], [['one'], 1], what)
    t.throws(() => readKeySet({ keys: [key] }, undefined), { message: noneLeft }, `${what}, alone`)
  }
  t.ok(methods([jwkOf(weak, { kid: 'three' })]), 'the exponent 3 is rare, but allowed')
})

t.test('private keys are counted, secrets are not', async (t) => {
  const list = [goodKey, { ...privateRsa, kid: 'a' }, rsa({ kid: 'b', d: '' }), hmac]
  t.match(readKeySet({ keys: list }, undefined), { leftOut: 3, compromised: 2 })
})

t.test('of equal kids none is taken, whatever is wrong with the other one', async (t) => {
  const others = [
    rsa({ kid: 'one' }),
    rsa({ kid: 'one', use: 'enc' }),
    { ...hmac, kid: 'one' },
    { kid: 'one' },
  ]
  for (const other of others) {
    const three = jwkOf(keys.p384, { kid: 'two' })
    const set = readKeySet({ keys: [goodKey, three, other] }, undefined)
    t.strictSame([...set.keys.keys()], ['two'], JSON.stringify(other).slice(0, 40))
  }
  t.throws(() => readKeySet({ keys: [goodKey, goodKey] }, undefined), {
    message: 'the set has no key that can be used',
  })
})

t.test('what is no set', async (t) => {
  const many = (count: number): unknown[] =>
    Array.from({ length: count }, (_, at) => ec({ kid: `${at}` }))
  const wrong: [unknown, string][] = [
    [null, 'the document is no key set'],
    [[], 'the document is no key set'],
    ['keys', 'the document is no key set'],
    [{}, 'the document is no key set'],
    [{ keys: { length: 1, 0: goodKey } }, 'the document is no key set'],
    [goodKey, 'the document is no key set'],
    [{ keys: [] }, 'the set has no key that can be used'],
    [{ keys: many(101) }, 'the set has more than 100 keys'],
    [{ keys: many(1000) }, 'the set has more than 100 keys'],
  ]
  for (const [document, message] of wrong) {
    t.throws(
      () => readKeySet(document, undefined),
      { message },
      JSON.stringify(document)?.slice(0, 40),
    )
  }
  t.equal(readKeySet({ keys: many(100) }, undefined).keys.size, 100)
})

t.test('what somebody has put on Object.prototype is no member of a key', async (t) => {
  // Not a `d`: with that, Node.js itself ends the process when it exports a key.
  const put = { kid: 'one', use: 'enc', key_ops: [], p: 'x', k: 'x' }
  const prototype = Object.prototype as unknown as Record<string, unknown>
  Object.assign(prototype, put)
  let found: string[] = []
  try {
    found = [...readKeySet({ keys: [goodKey, rsa({ kid: 'two' })] }, undefined).keys.keys()]
  } finally {
    for (const name of Object.keys(put)) delete prototype[name]
  }
  t.strictSame(found, ['one', 'two'])
})
