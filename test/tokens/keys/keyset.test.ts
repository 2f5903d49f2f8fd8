// Key sets of a service. Whole requests: test/tokens/key-set.test.ts.
import t from 'tap'
import { JwtService } from '../../../lib/index.js'
import { publicJwk, thumbprintOf } from '../../../lib/tokens/keys/key.js'
import { rejectionOf, thrownBy } from '../../helpers/errors.js'
import { moreKeys } from '../../helpers/keys.js'
import { until } from '../../helpers/load.js'
import { entries, headerOf, keySetSecret as secret } from '../../helpers/key-sets.js'
import { memoryFs } from '../../helpers/memory-fs.js'
import { claims, hmacToken, keys, publicPem, signedToken } from '../../helpers/tokens.js'
import type { JwtConfig } from '../../../types/jwt.js'
import type { KeyEntry } from '../../../types/keys.js'

const { a, b, rsa, old } = entries

/** A service over a key set file that the test rewrites. */
async function serviceOf(list: readonly KeyEntry[], config: JwtConfig = {}) {
  const fs = memoryFs({})
  const write = (given: readonly KeyEntry[]): void => {
    fs.files.set('keys.json', JSON.stringify(given))
  }
  write(list)
  const service = new JwtService({ keys: 'keys.json', reloadEvery: 0, ...config }, { fs })
  await service.load()
  const reload = async (given: readonly KeyEntry[]): Promise<unknown> => {
    write(given)
    return service.reload()
  }
  return { service, reload, write }
}

function causeOf(service: JwtService, token: string): unknown {
  const { code, error } = thrownBy(() => service.verify(token))
  return code === 'ERR_AUTH_JWT_INVALID' ? error.cause : code
}

t.test('a token names the key that signed it in its header', async (t) => {
  const { service } = await serviceOf([a, b, old])
  t.equal(service.signingMethod, 'ES256')
  const token = service.generateToken('alice')
  t.strictSame(headerOf(token), { alg: 'ES256', typ: 'JWT', kid: 'a' })
  t.equal(service.verify(token).sub, 'alice')
  const dated = service.generateTokenWithClaims({ sub: 'x', iat: 5 }, 'ES256', { typ: 'at+jwt' })
  t.strictSame(headerOf(dated), { alg: 'ES256', typ: 'at+jwt', kid: 'a' })
  const plain = await new JwtService({ keys: [{ ...a, kid: undefined }] }).load()
  t.strictSame(headerOf(plain.generateToken('alice')), {
    alg: 'ES256',
    typ: 'JWT',
    kid: thumbprintOf(publicJwk(publicPem(keys.p256.publicKey))),
  })
})

t.test('keys of every state verify, and only the one in state sign signs', async (t) => {
  const list = [a, { ...b, state: 'verify' }, { ...rsa, state: 'next' }, old] as const
  const { service } = await serviceOf(list)
  const signed = (key: { privateKey: typeof keys.rsa.privateKey }, alg: string, kid: string) =>
    signedToken({ alg, kid }, claims(), key.privateKey)
  t.equal(service.verify(signed(keys.p256, 'ES256', 'a')).sub, 'alice')
  t.equal(service.verify(signed(moreKeys.otherP256, 'ES256', 'b')).sub, 'alice')
  t.equal(service.verify(signed(keys.rsa, 'RS256', 'r')).sub, 'alice')
  t.equal(service.verify(hmacToken({ alg: 'HS256', kid: 'old' }, claims(), secret)).sub, 'alice')
  t.strictSame(
    (['ES256', 'RS256', 'HS256', 'PS256', undefined] as const).map((method) => [
      service.canSign(method),
      service.canVerify(method),
    ]),
    [
      [true, true],
      [false, true],
      [false, true],
      [false, false],
      [true, true],
    ],
  )
  const { code, message } = thrownBy(() => service.generateTokenWithClaims({}, 'RS256'))
  t.equal(code, 'ERR_AUTH_KEY')
  t.match(message, /"jwt\.keys": has no key with the state sign for RS256, but generateTokenWith/)
  const found = thrownBy(() => service.verify('a.b.c', 'PS256')).message
  t.match(found, /"jwt\.keys": has no key for PS256, but verify\(\) needs one to verify/)
  t.equal(thrownBy(() => service.verify('a.b.c', 'none' as never)).code, 'ERR_AUTH_OPTION')
})

t.test('kid selects the key, and a token with another alg than the key is rejected', async (t) => {
  const { service } = await serviceOf([a, b, rsa, { ...old, kid: '../k' }], {
    signingMethod: 'RS256',
  })
  const { privateKey } = keys.p256
  const es = (header: object) => signedToken({ alg: 'ES256', ...header }, claims(), privateKey)
  t.equal(service.verify(es({ kid: 'a' })).sub, 'alice')
  t.equal(causeOf(service, es({ kid: 'b' })), 'invalid signature', 'no other is tried')
  t.equal(causeOf(service, es({ kid: 'r' })), 'alg of kid')
  t.equal(causeOf(service, es({})), 'no kid', 'no legacy key of this algorithm')
  for (const kid of ['c', 'A', ' a', 'a\0', '__proto__', 'constructor', 'k'.repeat(2 ** 20)]) {
    t.equal(causeOf(service, es({ kid })), 'unknown kid', kid.slice(0, 20))
  }
  for (const kid of [null, 0, 1, '', [], ['a'], {}, true, { toString: 'a' }]) {
    t.equal(causeOf(service, es({ kid })), 'unknown kid', JSON.stringify(kid))
  }
  for (const extra of ['jwk', 'jku', 'x5u', 'x5c']) {
    const value = extra === 'jwk' ? keys.p256.publicKey.export({ format: 'jwk' }) : 'http://[::1]/'
    t.equal(causeOf(service, es({ [extra]: value })), 'no kid', extra)
    t.equal(service.verify(es({ kid: 'a', [extra]: value })).sub, 'alice', 'it is not looked at')
  }
  const pem = publicPem(keys.rsa.publicKey)
  t.equal(causeOf(service, hmacToken({ alg: 'HS256', kid: 'r' }, claims(), pem)), 'alg of kid')
  t.equal(
    causeOf(service, hmacToken({ alg: 'RS256', kid: 'r' }, claims(), pem)),
    'invalid signature',
  )
  t.equal(
    causeOf(service, hmacToken({ alg: 'HS256', kid: '../k' }, claims(), pem)),
    'invalid signature',
  )
})

t.test('a token without kid is verified by the legacy key of its algorithm only', async (t) => {
  const { service, reload } = await serviceOf([a, old])
  const token = hmacToken({ alg: 'HS256', typ: 'JWT' }, claims(), secret)
  t.equal(service.verify(token).sub, 'alice')
  t.equal(causeOf(service, hmacToken({ alg: 'HS256' }, claims(), 'x')), 'invalid signature')
  t.equal(causeOf(service, hmacToken({ alg: 'HS512' }, claims(), secret, 'sha512')), 'no kid')
  const named = hmacToken({ alg: 'HS256', kid: 'old' }, claims(), secret)
  t.equal(service.verify(named).sub, 'alice')
  await reload([a, { ...old, legacy: false }])
  t.equal(causeOf(service, token), 'no kid', 'also where it was cached')
  t.equal(service.verify(named).sub, 'alice')
})

t.test('signingMethod of an authenticator limits which keys verify, that of jwt not', async (t) => {
  const { service } = await serviceOf([a, rsa, old], { signingMethod: 'RS256' })
  const es = service.generateTokenWithClaims({ sub: 'alice' }, 'ES256')
  const rs = service.generateToken('alice')
  t.match(headerOf(rs), { alg: 'RS256', kid: 'r' })
  const any = service.verifier(undefined, {}, 'the test')
  const narrow = service.verifier('ES256', {}, 'the test')
  for (const token of [es, rs, es, rs]) t.equal(any(token).sub, 'alice')
  t.equal(narrow(es).sub, 'alice')
  t.equal(thrownBy(() => narrow(rs)).code, 'ERR_AUTH_JWT_INVALID', 'also cached')
  t.equal(thrownBy(() => service.verify(rs, 'ES256')).code, 'ERR_AUTH_JWT_INVALID')
  t.throws(() => service.verifier('PS256', {}, 'the test'), { code: 'ERR_AUTH_KEY' })
})

t.test('signing fails without a key in state sign, or if several could sign', async (t) => {
  const several = await rejectionOf(new JwtService({ keys: [a, rsa] }).load())
  t.equal(several.code, 'ERR_AUTH_OPTION')
  t.match(several.message, /"jwt\.signingMethod": is missing, but keys of several/)
  const other = await new JwtService({ keys: [a], signingMethod: 'HS256' }).load()
  t.throws(() => other.generateToken('a'), { code: 'ERR_AUTH_KEY' })
  t.strictSame(new JwtService({ keys: [a] }).stats(), {
    keys: { size: 0, reloads: 0, failures: 0 },
    tokens: { size: 0, bytes: 0, hits: 0, misses: 0 },
  })
  const reader = await new JwtService({ keys: [{ ...a, state: 'verify' }] }).load()
  t.equal(reader.signingMethod, undefined)
  t.match(
    thrownBy(() => reader.generateToken('a')).message,
    /has no key with the state sign, but generateTokenWithClaims\(\) needs one to sign.*keys init ES256/,
  )
})

t.test('a key verifies nothing from its until on, cached tokens included', async (t) => {
  const clock = { at: Date.now() }
  t.intercept(Date, 'now', { value: () => clock.at })
  const ends = clock.at + 60_000
  const end = new Date(ends).toISOString()
  const { service, reload } = await serviceOf([a, { ...old, until: end }])
  const token = hmacToken({ alg: 'HS256', kid: 'old' }, { sub: 'alice', exp: 1e10 }, secret)
  const fresh = hmacToken({ alg: 'HS256' }, { sub: 'bob', exp: 1e10 }, secret)
  t.equal(service.verify(token).sub, 'alice')
  clock.at = ends - 1
  t.equal(service.verify(token).sub, 'alice')
  t.strictSame(service.stats().tokens, { ...service.stats().tokens, size: 1, hits: 1, misses: 1 })
  clock.at = ends
  t.equal(causeOf(service, token), 'key expired')
  t.equal(causeOf(service, fresh), 'key expired')
  const later = new Date(ends + 5000).toISOString()
  await reload([a, { ...old, until: later }])
  t.equal(service.verify(token).sub, 'alice', 'a new until counts')
  clock.at = ends + 5000
  t.equal(causeOf(service, token), 'key expired')
})

t.test('a key that a reload removes verifies nothing, cached tokens included', async (t) => {
  const { service, reload } = await serviceOf([a, b, old])
  const tokens = {
    a: service.generateToken('alice'),
    old: hmacToken({ alg: 'HS256', kid: 'old' }, claims(), secret),
  }
  for (const token of Object.values(tokens)) service.verify(token)
  t.equal(service.stats().tokens.size, 2)
  await reload([
    { ...a, state: 'verify' },
    { ...b, state: 'sign' },
  ])
  t.strictSame(service.stats().keys, { size: 2, reloads: 1, failures: 0 })
  t.equal(service.stats().tokens.size, 0)
  t.equal(service.verify(tokens.a).sub, 'alice')
  t.equal(causeOf(service, tokens.old), 'unknown kid')
  t.match(headerOf(service.generateToken('x')), { kid: 'b' })
  await reload([{ ...b, state: 'sign' }])
  t.equal(causeOf(service, tokens.a), 'unknown kid')
  await reload([{ ...b, kid: 'a', state: 'sign' }])
  t.equal(causeOf(service, tokens.a), 'invalid signature', 'its name with another key')
  await reload([a])
  t.equal(service.verify(tokens.a).sub, 'alice', 'it came back')
})

t.test('a reload of a bad key set fails and keeps the old keys', async (t) => {
  const { service, reload, write } = await serviceOf([a, old])
  service.require(undefined, 'sign', 'login')
  const token = service.generateToken('alice')
  service.verify(token)
  const bad: (readonly object[])[] = [
    [],
    [{ ...a, state: 'gone' }],
    [a, { ...b, state: 'sign' }],
    [a, rsa],
    [{ ...a, private: 'missing.pem' }],
    [{ ...a, state: 'verify' }],
  ]
  for (const [index, list] of bad.entries()) {
    await rejectionOf(reload(list as KeyEntry[]))
    t.equal(service.stats().keys.failures, index + 1)
    t.match(headerOf(service.generateToken('x')), { kid: 'a' })
  }
  t.strictSame(service.stats().keys, { size: 2, reloads: 0, failures: bad.length })
  const { misses } = service.stats().tokens
  t.equal(service.verify(token).sub, 'alice')
  t.equal(service.stats().tokens.misses, misses, 'the cache stays')
  write([b])
  t.rejects(service.reload(), 'login needs a key that signs')
})

t.test('a service without a log emits a process warning if a reload fails', async (t) => {
  const found: string[] = []
  const listener = (warning: Error & { code?: string }): void => {
    if (warning.code === 'AUTHN_KEYS') found.push(warning.message)
  }
  process.on('warning', listener)
  t.teardown(() => process.off('warning', listener))
  const fs = memoryFs({ 'k.json': JSON.stringify([a]) })
  const service = await new JwtService({ keys: 'k.json', reloadEvery: 0.005 }, { fs }).load()
  t.teardown(() => service.close())
  fs.files.set('k.json', '[]')
  await until(() => found.length > 0, 'a warning')
  t.match(found[0], /the keys could not be read again; the old ones stay in force: .*jwt\.keys/)
})
