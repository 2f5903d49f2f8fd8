// The engine, over the real @fastify/jwt; what is taken for granted of that: fastify-jwt.test.ts.
import { createHmac } from 'node:crypto'
import t from 'tap'
import { createEngine } from '../../lib/tokens/engine.js'
import { thrownBy } from '../helpers/errors.js'
import { hmacSecret } from '../helpers/keys.js'
import { encode, hmacToken, keys, privatePem, publicPem, signedToken } from '../helpers/tokens.js'

const key = Buffer.from(hmacSecret)
const header = { alg: 'HS256', typ: 'JWT' }
const { sign, verify: verified } = createEngine({ sign: key, verify: key }, 'HS256')
const verify = (token: string): object => verified(token).claims

/** A token of parts as they are, with its right signature. */
function sealed(head: string, payload: string): string {
  const input = `${head}.${payload}`
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
}

t.test('signs the claims as they are', async (t) => {
  const cases: Record<string, unknown>[] = [
    { sub: 'a', exp: 5 },
    { sub: 'a', exp: 5, iat: 3 },
    { nbf: 1, exp: 2, iat: 3, role: [1] },
  ]
  for (const claims of cases) {
    const [head, payload, signature] = sign(Object.freeze({ ...claims })).split('.')
    const [headText, text] = [head, payload].map((part) => Buffer.from(String(part), 'base64url'))
    t.strictSame(JSON.parse(String(headText)), header)
    t.same(JSON.parse(String(text)), claims)
    const expected = createHmac('sha256', key).update(`${head}.${payload}`).digest('base64url')
    t.equal(signature, expected)
  }
})

t.test('returns the claims unjudged', async (t) => {
  const payloads = [
    '{"sub":"a","exp":1,"nbf":9999999999}',
    '{"exp":1e400,"nbf":1e300}',
    '{"exp":"no","nbf":[],"iat":{}}',
    '{"sub":"Ünal 😀"}',
    '{}',
  ]
  for (const text of payloads) {
    t.strictSame(verify(sealed(encode(header), encode(text))), JSON.parse(text), text)
  }
})

/** The refusal of a token: its code, and for the log why. */
function refusalOf(token: string): unknown[] {
  const { code, error } = thrownBy(() => verify(token))
  return [code, error.cause]
}

const invalid = 'ERR_AUTH_JWT_INVALID'

t.test('claims are frozen, also where they are nested deeper than the stack is', async (t) => {
  const depth = 200_000
  const claims = verify(
    sealed(encode(header), encode(`{"n":${'['.repeat(depth)}${']'.repeat(depth)}}`)),
  ) as { n: unknown[] }
  t.ok(Object.isFrozen(claims))
  let frozen = 0
  for (let list: unknown = claims.n; Array.isArray(list); list = list[0]) {
    frozen += Object.isFrozen(list) ? 1 : 0
  }
  t.equal(frozen, depth)
})

t.test('a claims set is UTF-8 (RFC 7519 §7.2)', async (t) => {
  const bad = [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]
  for (const bytes of bad) {
    const text = Buffer.concat([Buffer.from('{"sub":"'), Buffer.from(bytes), Buffer.from('"}')])
    t.strictSame(refusalOf(sealed(encode(header), encode(text))), [invalid, 'payload not UTF-8'])
  }
})

t.test('one algorithm, whatever the header says', async (t) => {
  const pem = publicPem(keys.rsa.publicKey)
  const engine = createEngine({ verify: pem }, 'RS256')
  const verifyRsa = (token: string): object => engine.verify(token).claims
  const good = signedToken({ alg: 'RS256' }, { sub: 'a' }, keys.rsa.privateKey)
  t.strictSame(verifyRsa(good), { sub: 'a' })
  const forged = [
    hmacToken({ alg: 'HS256' }, { sub: 'a' }, pem),
    signedToken({ alg: 'RS512' }, { sub: 'a' }, keys.rsa.privateKey, 'sha512'),
    signedToken({ alg: 'PS256' }, { sub: 'a' }, keys.rsa.privateKey, 'sha256', true),
    signedToken({ alg: 'RS256' }, { sub: 'a' }, keys.rsa.privateKey, 'sha256', true),
    `${encode({ alg: 'none' })}.${encode({ sub: 'a' })}.`,
  ]
  for (const token of forged) t.equal(thrownBy(() => verifyRsa(token)).code, invalid, token)
})

const pairs = {
  RS256: keys.rsa,
  PS512: keys.rsa,
  ES256: keys.p256,
  EdDSA: keys.ed25519,
} as const

t.test('a key that the engine does not take is an error at once', async (t) => {
  t.throws(() => createEngine({ verify: 'no PEM' }, 'RS256'))
})

t.test('the purpose of a token stands in its header', async (t) => {
  const headerOf = (token: string): unknown =>
    JSON.parse(Buffer.from(String(token.split('.')[0]), 'base64url').toString())
  for (const claims of [{ sub: 'a' }, { sub: 'a', iat: 5 }]) {
    for (const typ of ['reset+jwt', 'application/x+jwt', 'JWT', undefined]) {
      const token = sign(claims, typ)
      t.strictSame(headerOf(token), { alg: 'HS256', typ: typ ?? 'JWT' })
      t.match(verified(token).claims, claims)
    }
  }
  // More than are kept.
  for (let each = 0; each < 40; each += 1) t.equal(verified(sign({}, `t${each}`)).typ, `t${each}`)
  const typs: [unknown, unknown][] = [
    ['JWT', 'jwt'],
    ['application/AT+JWT', 'at+jwt'],
    ['', ''],
    [null, null],
    [['JWT'], null],
    [7, null],
  ]
  for (const [typ, expected] of typs) {
    t.equal(verified(hmacToken({ alg: 'HS256', typ }, {}, key)).typ, expected)
  }
  t.equal(verified(hmacToken({ alg: 'HS256' }, {}, key)).typ, undefined)
  t.equal(verified(hmacToken('{"alg":"HS256","__proto__":{"typ":"x"}}', {}, key)).typ, undefined)
})
