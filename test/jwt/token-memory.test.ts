// What is remembered of a token is its signature, and nothing else.
import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import Fastify from 'fastify'
import t from 'tap'
import { authn, EXTRA_JWT_CLAIMS, JwtService } from '../../lib/index.js'
import { rememberTokens } from '../../lib/jwt/token-memory.js'
import { thrownBy } from '../helpers/errors.js'
import { bearer, secret, userService } from '../helpers/app.js'
import { keys, privatePem, publicPem } from '../helpers/tokens.js'
import type { JwtConfig } from '../../types/jwt.js'

/** A memory over a verification that counts, and refuses tokens that begin with "bad". */
function counted(options: { max?: number; maxLength?: number } = {}): {
  verify: (token: string) => object
  calls: string[]
} {
  const calls: string[] = []
  const verify = rememberTokens(
    (token) => {
      calls.push(token)
      if (token.startsWith('bad')) throw new Error('signature')
      return { sub: token }
    },
    { max: 10, maxLength: 100, ...options },
  )
  return { verify, calls }
}

t.test('a token is verified once, by its exact text', async (t) => {
  const { verify, calls } = counted()
  const claims = verify('good')
  t.equal(verify('good'), claims)
  t.equal(verify(Buffer.from('good').toString()), claims)
  t.equal(calls.length, 1)
  for (const other of ['Good', 'good ', 'goo', 'goods']) t.not(verify(other), claims)
  t.equal(calls.length, 5)
})

t.test('tokens with the same end are not taken for each other', async (t) => {
  const { verify, calls } = counted({ max: 2 })
  const [one, two] = ['one.0123456789abcdef', 'two.0123456789abcdef']
  for (const token of [one, two, two, one]) t.strictSame(verify(token), { sub: token })
  t.strictSame(calls, [one, two, one], 'the later one in the place of the earlier one')
  t.throws(() => verify('bad.0123456789abcdef'))
  verify(one)
  t.equal(calls.length, 4, 'which a refused one does not take')
})

t.test('refused tokens are not remembered, and displace nothing', async (t) => {
  const { verify, calls } = counted({ max: 2 })
  verify('a')
  verify('b')
  for (let each = 0; each < 1000; each += 1) t.throws(() => verify(`bad${each % 10}`))
  t.equal(calls.length, 1002, 'each of them is verified')
  verify('a')
  verify('b')
  t.equal(calls.length, 1002)
})

t.test('no more than the limit, one that was not used again first', async (t) => {
  const { verify, calls } = counted({ max: 2 })
  for (const token of ['a', 'b', 'a', 'c', 'c', 'c', 'a']) verify(token)
  t.strictSame(calls, ['a', 'b', 'c', 'c'])
  verify('b')
  t.strictSame(calls, ['a', 'b', 'c', 'c', 'b'])
})

t.test('as many as the limit stay, however often they come in turn', async (t) => {
  const { verify, calls } = counted({ max: 50 })
  for (let round = 0; round < 5; round += 1) {
    for (let each = 0; each < 50; each += 1) verify(`token${each}`)
  }
  t.equal(calls.length, 50)
  for (let each = 0; each < 3; each += 1) verify('one more')
  t.equal(calls.length, 52, 'where there is no room, the second time counts')
  for (let each = 0; each < 50; each += 1) verify(`token${each}`)
  t.equal(calls.length, 53, 'one of them had to go')
})

t.test('tokens that come once push nothing out', async (t) => {
  const { verify, calls } = counted({ max: 10 })
  const often = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']
  for (const token of often) verify(token)
  for (let each = 0; each < 1000; each += 1) verify(randomBytes(32).toString('base64url'))
  for (const token of often) verify(token)
  t.ok(calls.length < 1000 + 2 * often.length, `${calls.length} were verified`)
  for (const token of often) t.equal(calls.filter((call) => call === token).length, 1, token)
})

t.test('those that come often get in, and what is not used any more goes', async (t) => {
  const { verify, calls } = counted({ max: 10 })
  for (let each = 0; each < 10; each += 1) verify(`old${each}`)
  for (let round = 0; round < 4; round += 1) {
    for (let each = 0; each < 10; each += 1) verify(`new${each}`)
  }
  const before = calls.length
  for (let each = 0; each < 10; each += 1) verify(`new${each}`)
  t.equal(calls.length, before)
})

t.test('with room for one', async (t) => {
  const { verify, calls } = counted({ max: 1 })
  for (const token of ['a', 'a', 'b', 'b', 'b']) verify(token)
  t.strictSame(calls, ['a', 'b', 'b'])
})

t.test('long tokens are verified each time', async (t) => {
  const { verify, calls } = counted({ maxLength: 4 })
  for (const token of ['four', 'four', 'fives', 'fives']) verify(token)
  t.strictSame(calls, ['four', 'fives', 'fives'])
})

const settings: Record<string, JwtConfig['rememberTokens']> = {
  'by default': undefined,
  'with numbers': { max: 1, maxBytes: 512 },
  'switched off': false,
}

for (const [title, rememberTokens] of Object.entries(settings)) {
  t.test(`times, issuer and audience are judged on every request: ${title}`, async (t) => {
    const config = { secret, issuer: 'me', audience: 'you', rememberTokens }
    const service = new JwtService(config)
    const token = service.generateTokenWithClaims({ sub: 'a', nbf: 1000, exp: 2000 })
    let now = 1500
    t.intercept(Date, 'now', { value: () => now * 1000 })
    const code = (): unknown => thrownBy(() => service.verify(token)).code
    t.match(service.verify(token), { sub: 'a' })
    now = 2000
    t.equal(code(), 'ERR_AUTH_JWT_EXPIRED')
    now = 999
    t.equal(code(), 'ERR_AUTH_JWT_NOT_VALID_YET')
    now = 1999
    t.match(service.verify(token), { sub: 'a' })
    for (const rules of [{ issuer: 'other' }, { audience: 'other' }]) {
      const { code } = thrownBy(() => service.verify(token, 'HS256', rules))
      t.equal(code, 'ERR_AUTH_JWT_INVALID')
    }
    const verify = service.verifier('HS256', { audience: 'other' }, 'the test')
    t.equal(thrownBy(() => verify(token)).code, 'ERR_AUTH_JWT_INVALID', 'of another verifier')
  })

  t.test(`one method knows nothing of another one: ${title}`, async (t) => {
    const service = new JwtService({ secret: secret + secret, rememberTokens })
    const token = service.generateTokenWithClaims({ sub: 'a' }, 'HS512')
    t.match(service.verify(token, 'HS512'), { sub: 'a' })
    t.equal(thrownBy(() => service.verify(token, 'HS256')).code, 'ERR_AUTH_JWT_INVALID')
  })

  t.test(`claims are frozen at any depth: ${title}`, async (t) => {
    const service = new JwtService({ secret, rememberTokens })
    const token = service.generateTokenWithClaims({ sub: 'a', roles: [{ name: 'admin' }] })
    const claims = service.verify(token) as { sub: string; roles: { name: string }[] }
    t.throws(() => (claims.sub = 'b'), TypeError)
    t.throws(() => claims.roles.push({ name: 'root' }), TypeError)
    t.throws(() => ((claims.roles[0] as { name: string }).name = 'root'), TypeError)
    t.match(service.verify(token), { sub: 'a', roles: [{ name: 'admin' }] })
  })
}

t.test('new keys know none of the old tokens', async (t) => {
  const file = `${t.testdir({})}/key.pem`
  const { privateKey: other } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const write = async (key: KeyObject): Promise<void> => writeFile(file, privatePem(key))
  await write(keys.p256.privateKey)
  const service = new JwtService({ signingMethod: 'ES256', ecdsa: { private: file } })
  await service.load()
  service.require('ES256', 'sign', 'the test')
  const token = service.generateToken('a')
  t.match(service.verify(token), { sub: 'a' })
  await write(other)
  await service.reload()
  t.equal(thrownBy(() => service.verify(token)).code, 'ERR_AUTH_JWT_INVALID')
  await write(keys.p256.privateKey)
  await service.reload()
  t.match(service.verify(token), { sub: 'a' })
  await writeFile(file, publicPem(keys.p256.publicKey))
  await t.rejects(service.reload())
  t.match(service.verify(token), { sub: 'a' }, 'a reload that failed has changed nothing')
})

t.test('the user service is asked, and the claim is judged, on every request', async (t) => {
  const users = userService()
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, { userService: users, jwt: { secret } })
  const seen: unknown[] = []
  app.get('/', { config: { auth: true } }, (request) => {
    const claims = request.extra[EXTRA_JWT_CLAIMS]
    seen.push(claims)
    t.throws(() => Object.assign(claims as object, { admin: true }), TypeError)
    return request.user
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  for (let round = 0; round < 3; round += 1) {
    t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  }
  t.equal(users.asked.length, 3)
  t.equal(new Set(seen).size, 1, 'one object for all')
  t.notOk('admin' in (seen[0] as object))
  const nameless = bearer(app.jwtService.generateTokenWithClaims({ sub: ['alice'] }))
  for (let round = 0; round < 2; round += 1) {
    t.equal((await app.inject({ url: '/', headers: nameless })).statusCode, 401)
  }
  t.equal(users.asked.length, 3)
})
