import { createHmac, verify as verifyBytes, constants } from 'node:crypto'
import t from 'tap'
import { authn, JwtService } from '../../lib/index.js'
import { rejectionOf, reveals, thrownBy } from '../helpers/errors.js'
import { fastify, secret, userService } from '../helpers/app.js'
import { configOf, hmacSecret, methodCases, moreKeys, type MethodCase } from '../helpers/keys.js'
import { headerOf } from '../helpers/key-sets.js'
import { memoryFs } from '../helpers/memory-fs.js'
import { claimsOf } from '../helpers/sessions.js'
import {
  hmacToken,
  keys,
  epochSeconds,
  privatePem,
  publicPem,
  signedToken,
} from '../helpers/tokens.js'
import type { JwtConfig, SigningMethod, TokenRules } from '../../types/jwt.js'

const invalid = 'ERR_AUTH_JWT_INVALID'
const expired = 'ERR_AUTH_JWT_EXPIRED'
const early = 'ERR_AUTH_JWT_NOT_VALID_YET'

/** A service with both halves of the pair of a method, as PEM text. */
function serviceOf(methodCase: MethodCase, more: Partial<JwtConfig> = {}): JwtService {
  const halves = configOf(methodCase, ({ privateKey, publicKey }) => ({
    private: privatePem(privateKey),
    public: publicPem(publicKey),
  }))
  return new JwtService({ ...halves, ...more })
}

/** What a call returns, or the code of what it throws. */
function codeOf(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

/** Whether node:crypto finds the signature of a token good. */
function isSigned(token: string, { pair, hash, pss }: MethodCase): boolean {
  const end = token.lastIndexOf('.')
  const input = token.slice(0, end)
  const signature = Buffer.from(token.slice(end + 1), 'base64url')
  if (pair === null) {
    return createHmac(String(hash), hmacSecret).update(input).digest().equals(signature)
  }
  const padding = {
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: Number(hash?.slice(3)) / 8,
  }
  const key = { key: pair.publicKey, dsaEncoding: 'ieee-p1363' as const, ...(pss && padding) }
  return verifyBytes(hash, Buffer.from(input), key, signature)
}

/** A token of the same method that this package did not make. */
function foreignToken({ method, pair, hash, pss }: MethodCase, payload: object): string {
  const header = { alg: method, typ: 'JWT' }
  return pair === null
    ? hmacToken(header, payload, hmacSecret, String(hash))
    : signedToken(header, payload, pair.privateKey, hash, pss)
}

for (const methodCase of methodCases) {
  t.test(`${methodCase.title} signs what node:crypto verifies, and vice versa`, async (t) => {
    const { method, family, pair } = methodCase
    const service = serviceOf(methodCase)
    const before = epochSeconds()
    const token = service.generateToken('alice')
    const payload = claimsOf(token)
    t.strictSame(headerOf(token), { alg: method, typ: 'JWT' })
    t.strictSame(Object.keys(payload).toSorted(), ['exp', 'nbf', 'sub'], 'exactly these claims')
    t.equal(payload.sub, 'alice')
    t.ok(Number(payload.nbf) >= before && Number(payload.nbf) <= epochSeconds(), 'nbf: now')
    t.equal(payload.exp, Number(payload.nbf) + 300)
    t.ok(isSigned(token, methodCase), 'node:crypto finds the signature good')
    t.strictSame({ ...service.verify(token) }, payload)
    t.strictSame({ ...service.verify(token, method) }, payload)
    t.strictSame({ ...service.verifier(method, {}, 'the test')(token) }, payload)

    const foreign = foreignToken(methodCase, { sub: 'bob', exp: epochSeconds() + 60 })
    t.equal(service.verify(foreign).sub, 'bob', 'a token that node:crypto signed')

    if (pair === null) return
    const verifying = new JwtService({
      [family]: { public: publicPem(pair.publicKey) },
      signingMethod: method,
    })
    t.strictSame({ ...verifying.verify(token) }, payload, 'with the public half only')
    t.ok(verifying.canVerify())
    t.notOk(verifying.canSign())
    const { code, message } = thrownBy(() => verifying.generateToken('alice'))
    t.equal(code, 'ERR_AUTH_KEY')
    t.match(message, `option "jwt.${family}.private": is missing`)
    const signing = new JwtService({
      [family]: { private: privatePem(pair.privateKey) },
      signingMethod: method,
    })
    t.strictSame({ ...signing.verify(token) }, payload, 'with the private half only')
  })
}

t.test('each key file is read once by load(), and once by each reload()', async (t) => {
  const fs = memoryFs({
    'rsa.pem': privatePem(keys.rsa.privateKey),
    'rsa.pub': publicPem(keys.rsa.publicKey),
    'ec.pem': privatePem(keys.p256.privateKey),
  })
  const service = new JwtService(
    {
      rsa: { private: 'rsa.pem', public: 'rsa.pub' },
      ecdsa: { private: 'ec.pem' },
      signingMethod: 'RS256',
    },
    { fs },
  )
  t.strictSame(fs.reads, {}, 'not by the constructor')
  const loaded = await Promise.all([service.load(), service.load()])
  t.strictSame(loaded, [service, service])
  t.equal(await service.load(), service)
  const app = fastify(t)
  const options = { jwtService: service, userService: userService(), login: false } as const
  await app.register(authn, options)
  await app.register(async (inner) => inner.register(authn, options))
  await app.ready()
  for (const method of ['RS256', 'PS512', 'ES256'] as const) {
    for (const sub of ['a', 'b', 'c']) {
      t.equal(service.verify(service.generateTokenWithClaims({ sub }, method), method).sub, sub)
    }
  }
  t.strictSame(fs.reads, { 'rsa.pem': 1, 'rsa.pub': 1, 'ec.pem': 1 })
  await service.reload()
  t.strictSame(fs.reads, { 'rsa.pem': 2, 'rsa.pub': 2, 'ec.pem': 2 }, 'and once at a reload')
})

t.test('a service with key files throws ERR_AUTH_KEY before load()', async (t) => {
  const fs = memoryFs({ 'ec.pem': privatePem(keys.p256.privateKey) })
  const config = { ecdsa: { private: 'ec.pem' }, secret, signingMethod: 'ES256' } as const
  const service = new JwtService(config, { fs })
  const calls: Record<string, () => unknown> = {
    generateToken: () => service.generateToken('alice'),
    generateTokenWithClaims: () => service.generateTokenWithClaims({ sub: 'a' }, 'HS256'),
    verify: () => service.verify('a.b.c'),
    verifier: () => service.verifier('HS256', {}, 'the test'),
    canSign: () => service.canSign(),
    canVerify: () => service.canVerify('HS256'),
    require: () => service.require('ES256', 'sign', 'the test'),
  }
  for (const [name, call] of Object.entries(calls)) {
    t.match(thrownBy(call), { code: 'ERR_AUTH_KEY', message: 'Await its load()' }, name)
  }
  await service.load()
  t.equal(service.verify(service.generateToken('alice')).sub, 'alice')
})

t.test('a load that failed can be tried again', async (t) => {
  const fs = memoryFs({})
  const service = new JwtService({ ecdsa: { private: 'ec.pem' }, signingMethod: 'ES256' }, { fs })
  t.match((await rejectionOf(service.load())).message, 'cannot be read (ENOENT)')
  fs.files.set('ec.pem', privatePem(keys.p256.privateKey))
  t.equal(await service.load(), service)
  t.equal(service.verify(service.generateToken('alice')).sub, 'alice')
})

t.test('reload() replaces all keys at once', async (t) => {
  const fs = memoryFs({
    'rsa.pem': privatePem(keys.rsa.privateKey),
    'ec.pem': privatePem(keys.p256.privateKey),
  })
  const config = { rsa: { private: 'rsa.pem' }, ecdsa: { private: 'ec.pem' } }
  const service = await new JwtService(config, { fs }).load()
  const verifyRsa = service.verifier('RS256', {}, 'a route')
  const tokensOf = (): [string, string] => [
    service.generateTokenWithClaims({ sub: 'rsa' }, 'RS256'),
    service.generateTokenWithClaims({ sub: 'ec' }, 'ES256'),
  ]
  const [oldRsa, oldEc] = tokensOf()
  t.equal(verifyRsa(oldRsa).sub, 'rsa')

  fs.files.set('rsa.pem', privatePem(moreKeys.otherRsa.privateKey))
  fs.files.set('ec.pem', privatePem(moreKeys.otherP256.privateKey))
  t.equal(verifyRsa(oldRsa).sub, 'rsa', 'files that change change nothing')
  const reloading = service.reload()
  t.equal(verifyRsa(oldRsa).sub, 'rsa', 'the old keys are in force while the new ones are read')
  t.equal(await reloading, service)

  const [newRsa, newEc] = tokensOf()
  t.equal(verifyRsa(newRsa).sub, 'rsa', 'a verifier that was made before follows')
  t.equal(service.verify(newEc, 'ES256').sub, 'ec')
  t.equal(thrownBy(() => verifyRsa(oldRsa)).code, invalid)
  t.equal(thrownBy(() => service.verify(oldEc, 'ES256')).code, invalid)
})

t.test('reload() keeps all old keys if one new key is bad', async (t) => {
  const good = {
    'rsa.pem': privatePem(keys.rsa.privateKey),
    'ec.pem': privatePem(keys.p256.privateKey),
    'ec.pub': publicPem(keys.p256.publicKey),
  }
  const config = { rsa: { private: 'rsa.pem' }, ecdsa: { private: 'ec.pem', public: 'ec.pub' } }
  const otherEc = privatePem(moreKeys.otherP256.privateKey)
  const cases: [string, Record<string, string | null>, string][] = [
    [
      'a file is gone',
      { 'ec.pem': null },
      '"jwt.ecdsa.private": the file that it names cannot be read',
    ],
    ['one half only', { 'ec.pem': otherEc }, 'is not the public half of "private"'],
    [
      'another curve, which does not fit the method in use',
      { 'ec.pem': privatePem(keys.p384.privateKey), 'ec.pub': publicPem(keys.p384.publicKey) },
      'is on the curve secp384r1, but ES256 needs prime256v1, which the route needs',
    ],
  ]
  for (const [title, changes, text] of cases) {
    const fs = memoryFs(good)
    const service = await new JwtService(config, { fs }).load()
    const verifyEc = service.verifier('ES256', {}, 'the route')
    const oldEc = service.generateTokenWithClaims({ sub: 'ec' }, 'ES256')
    const oldRsa = service.generateTokenWithClaims({ sub: 'rsa' }, 'RS256')
    // The other family gets a good new key, which must not come into force either.
    if (!('rsa.pem' in changes)) fs.files.set('rsa.pem', privatePem(moreKeys.otherRsa.privateKey))
    for (const [path, content] of Object.entries(changes)) {
      if (content === null) fs.files.delete(path)
      else fs.files.set(path, content)
    }
    const { code, message } = await rejectionOf(service.reload())
    t.equal(code, 'ERR_AUTH_KEY', title)
    t.ok(message.includes(text), message)
    t.equal(verifyEc(oldEc).sub, 'ec')
    t.equal(service.verify(oldRsa, 'RS256').sub, 'rsa')
    const next = service.generateTokenWithClaims({ sub: 'next' }, 'RS256')
    t.equal(service.verify(next, 'RS256').sub, 'next')
    for (const [path, content] of Object.entries(good)) fs.files.set(path, content)
    t.equal(await service.reload(), service, 'the next reload can succeed')
  }
})

t.test('of two reloads at once the later one wins', async (t) => {
  const [older, newer] = [keys.p256, moreKeys.otherP256].map(({ privateKey }) =>
    privatePem(privateKey),
  )
  const texts = [older, newer]
  const readings: (() => void)[] = []
  const fs = {
    readFile: () =>
      new Promise((resolve) => {
        const text = texts.shift()
        readings.push(() => resolve(text))
      }),
  }
  const service = new JwtService({ ecdsa: { private: 'ec.pem' }, signingMethod: 'ES256' }, { fs })
  const reloads = Promise.all([service.reload(), service.reload()])
  // Where both files are being read at once, the later reading ends first.
  for (let left = 2; left > 0; left -= 1) {
    while (readings.length === 0) await new Promise(setImmediate)
    readings.pop()?.()
  }
  await reloads
  const expected = new JwtService({ ecdsa: { private: String(newer) }, signingMethod: 'ES256' })
  t.doesNotThrow(() => service.verify(expected.generateToken('alice')))
})

t.test('reload() may drop the key of a method that no route requires', async (t) => {
  const fs = memoryFs({ 'ec.pem': privatePem(keys.p256.privateKey) })
  const service = await new JwtService({ ecdsa: { private: 'ec.pem' } }, { fs }).load()
  service.generateTokenWithClaims({ sub: 'a' }, 'ES256')
  fs.files.set('ec.pem', privatePem(keys.p384.privateKey))
  await service.reload()
  const token = service.generateTokenWithClaims({ sub: 'a' }, 'ES384')
  t.equal(service.verify(token, 'ES384').sub, 'a')
  const found = thrownBy(() => service.generateTokenWithClaims({ sub: 'a' }, 'ES256')).message
  t.match(found, 'is on the curve secp384r1, but ES256 needs prime256v1')
  t.equal(thrownBy(() => service.verify(token, 'ES256')).code, invalid)
})

t.test('require() throws if the key for a method is missing or too short', async (t) => {
  const service = new JwtService({ secret, rsa: { public: publicPem(keys.rsa.publicKey) } })
  t.doesNotThrow(() => service.require('HS256', 'sign', 'x'))
  t.doesNotThrow(() => service.require('PS384', 'verify', 'x'))
  const cases: [SigningMethod, 'sign' | 'verify', string][] = [
    ['HS384', 'verify', 'option "jwt.secret": is 256 bits long, expected at least 384'],
    ['RS256', 'sign', 'option "jwt.rsa.private": is missing, but x needs it to sign.'],
    ['EdDSA', 'verify', 'option "jwt.eddsa": is missing, but x needs EdDSA.'],
  ]
  for (const [method, use, text] of cases) {
    const { code, message } = thrownBy(() => service.require(method, use, 'x'))
    t.equal(code, 'ERR_AUTH_KEY')
    t.match(message, text)
  }
  await service.reload()
  t.pass('what could not be had is not required of a reload')
})

t.test('a forged token is invalid, whatever its claims', async (t) => {
  const service = new JwtService({ secret, issuer: 'us' })
  const header = { alg: 'HS256', typ: 'JWT' }
  const payloads = [
    { sub: 'alice', iss: 'us', exp: 1 },
    { sub: 'alice', iss: 'us', exp: epochSeconds() + 60, nbf: epochSeconds() + 30 },
    { sub: 'alice', iss: 'them', exp: 1 },
  ]
  const codesOf = (key: string): unknown[] =>
    payloads.map((payload) => thrownBy(() => service.verify(hmacToken(header, payload, key))).code)
  t.strictSame(codesOf(secret), [expired, early, invalid])
  t.strictSame(codesOf(`${secret}x`), [invalid, invalid, invalid], 'forged: nothing else is told')
})

t.test('verify() rejects what is no string', async (t) => {
  const service = new JwtService({ secret })
  const good = service.generateToken('alice')
  for (const token of [
    '',
    42,
    null,
    undefined,
    { toString: () => good.slice(1) },
    Symbol('token'),
  ]) {
    const { code, error } = thrownBy(() => service.verify(token as string))
    t.equal(code, invalid, typeof token)
    t.notOk(reveals(error, String(good.split('.')[1])), `${typeof token}: not shown`)
  }
})

t.test('rules hold for the service, for a verifier and for a single call', async (t) => {
  const service = new JwtService({ secret, clockTolerance: 0 })
  const old = service.generateTokenWithClaims({ sub: 'a', exp: epochSeconds() - 30 })
  const eternal = hmacToken({ alg: 'HS256' }, { sub: 'a' }, secret)
  const addressed = service.generateTokenWithClaims({ sub: 'a', iss: 'us', aud: ['x', 'api'] })
  const cases: [string, string, TokenRules, unknown][] = [
    ['expired', old, {}, expired],
    ['expired, within the tolerance', old, { clockTolerance: 300 }, 'a'],
    ['no exp', eternal, {}, invalid],
    ['no exp, allowed', eternal, { requireExp: false }, 'a'],
    ['an audience, and none is expected', addressed, {}, invalid],
    ['the issuer', addressed, { issuer: 'us', audience: false }, 'a'],
    ['one of the audience', addressed, { audience: ['y', 'x'] }, 'a'],
    ['another audience', addressed, { audience: ['y', 'z'] }, invalid],
  ]
  const verifiers = (rules: TokenRules): ((token: string) => { sub?: unknown })[] => [
    (token) => service.verify(token, 'HS256', rules),
    service.verifier('HS256', rules, 'the test'),
    service.verifier(undefined, rules, 'the test'),
    (token) => new JwtService({ secret, ...rules }).verify(token),
    (token) => new JwtService({ secret, ...rules }).verify(token, undefined, {}),
  ]
  for (const [title, token, rules, expected] of cases) {
    for (const verify of verifiers(rules))
      t.equal(
        codeOf(() => verify(token).sub),
        expected,
        title,
      )
  }
})

t.test('verify() and verifier() throw ERR_AUTH_OPTION for bad rules', async (t) => {
  const service = new JwtService({ secret })
  const old = service.generateTokenWithClaims({ sub: 'a', nbf: 1, exp: 2 })
  const wrong: [string, unknown][] = [
    ['a tolerance of NaN', { clockTolerance: NaN }],
    ['a tolerance that is a string', { clockTolerance: '5' }],
    ['a typo', { requireexp: false }],
  ]
  for (const [title, rules] of wrong) {
    const calls = [
      () => service.verify(old, 'HS256', rules as TokenRules),
      () => service.verifier('HS256', rules as TokenRules, 'the test'),
    ]
    t.strictSame(calls.map(codeOf), ['ERR_AUTH_OPTION', 'ERR_AUTH_OPTION'], title)
  }
})

t.test('an unknown signing method throws, or is reported as unusable', async (t) => {
  const service = new JwtService({ secret })
  for (const method of ['none', 'HS1', 'hs256', 'constructor', '__proto__', '']) {
    const wrong = method as SigningMethod
    const calls: Record<string, () => unknown> = {
      generateTokenWithClaims: () => service.generateTokenWithClaims({ sub: 'a' }, wrong),
      verify: () => service.verify('a.b.c', wrong),
      verifier: () => service.verifier(wrong, {}, 'the test'),
      require: () => service.require(wrong, 'sign', 'the test'),
      canSign: () => service.canSign(wrong),
      canVerify: () => service.canVerify(wrong),
    }
    // can…() may as well say no.
    const wrongly = Object.entries(calls).filter(
      ([, call]) => !/^ERR_AUTH_|^false$/.test(String(codeOf(call))),
    )
    t.strictSame(Object.keys(Object.fromEntries(wrongly)), [], String(method))
  }
})

t.test('generateToken() accepts strings and finite numbers as sub, and nothing else', async (t) => {
  const service = new JwtService({ secret })
  for (const id of ['alice', '0', ' ', 'é😀', 0, -1, 1.5, Number.MAX_SAFE_INTEGER]) {
    t.equal(service.verify(service.generateToken(id)).sub, id, String(id))
  }
  const wrong = ['', undefined, null, NaN, Infinity, true, 1n, {}, ['alice'], () => 'alice']
  for (const id of wrong) {
    const { code } = thrownBy(() => service.generateToken(id as string))
    t.equal(code, 'ERR_AUTH_CLAIMS', typeof id)
  }
})

t.test('generateTokenWithClaims() rejects claims that JSON cannot express', async (t) => {
  const service = new JwtService({ secret })
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const thrower = {
    toJSON(): never {
      throw new Error('no')
    },
  }
  for (const claims of [{ id: 1n }, circular, { user: thrower }]) {
    t.equal(thrownBy(() => service.generateTokenWithClaims(claims)).code, 'ERR_AUTH_CLAIMS')
  }
})
