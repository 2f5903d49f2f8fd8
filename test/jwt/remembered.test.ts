// What is remembered of a token is its signature, and nothing else.
import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { authn, EXTRA_JWT_CLAIMS, JwtService } from '../../lib/index.js'
import type { VerifiedToken } from '../../lib/jwt/engine.js'
import { TokenMemory, type TokenCounts } from '../../lib/jwt/remembered.js'
import { thrownBy } from '../helpers/errors.js'
import { bearer, secret, userService, tokensOf } from '../helpers/app.js'
import { keys, privatePem, publicPem } from '../helpers/tokens.js'
import type { JwtConfig } from '../../types/jwt.js'

interface Counted {
  readonly memory: TokenMemory
  readonly verify: (token: string) => object
  /** Tokens whose signature was computed. */
  readonly calls: string[]
  readonly counts: TokenCounts
}

/** A memory over a verification that counts, and refuses tokens that begin with "bad". */
function counted(
  options: { max?: number; maxBytes?: number } = {},
  claimsOf: (token: string) => Record<string, unknown> = (token) => ({ sub: token }),
): Counted {
  const calls: string[] = []
  const counts = { hits: 0, misses: 0 }
  const memory = new TokenMemory<VerifiedToken>(
    (token) => {
      calls.push(token)
      if (token.startsWith('bad')) throw new Error('signature')
      return { claims: claimsOf(token), typ: undefined }
    },
    { max: 10, maxBytes: 2 ** 20, ...options },
    counts,
  )
  return { memory, verify: (token) => memory.verify(token).claims, calls, counts }
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

t.test('no more than the limit, the one not used for the longest time goes first', async (t) => {
  const { memory, verify, calls } = counted({ max: 2 })
  for (const token of ['a', 'b', 'a', 'c', 'c', 'a']) verify(token)
  t.strictSame(calls, ['a', 'b', 'c'])
  t.equal(memory.size, 2)
  verify('b')
  t.strictSame(calls, ['a', 'b', 'c', 'b'])
})

t.test('as many as the limit stay, however often they come in turn', async (t) => {
  const { memory, verify, calls, counts } = counted({ max: 50 })
  for (let round = 0; round < 5; round += 1) {
    for (let each = 0; each < 50; each += 1) verify(`token${each}`)
  }
  t.equal(calls.length, 50)
  t.equal(memory.size, 50)
  t.strictSame(counts, { hits: 200, misses: 50 })
})

t.test('tokens that come once cannot push out those in use', async (t) => {
  const { verify, calls } = counted({ max: 20 })
  const often = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']
  for (const token of often) verify(token)
  for (let each = 0; each < 1000; each += 1) {
    verify(randomBytes(32).toString('base64url'))
    verify(String(often[each % often.length]))
  }
  t.equal(calls.length, 1010)
})

t.test('where nearly every token comes for the first time, few are stored', async (t) => {
  const { memory, verify, calls } = counted({ max: 10 })
  let stored = 0
  let last: unknown
  for (let each = 0; each < 1620; each += 1) {
    const token = randomBytes(32).toString('base64url')
    verify(token)
    const { length } = calls
    // One that is stored makes the credit of the next one.
    if (each >= 20 && each % 100 === 0) {
      verify(token)
      last = calls.length === length
      if (last) stored += 1
    }
  }
  t.equal(memory.size, 10)
  t.ok(stored < 8, `${stored} of 17 were stored`)
})

t.test('what is used often gets in, and what is not used any more goes', async (t) => {
  const { verify, calls } = counted({ max: 10 })
  for (let each = 0; each < 1000; each += 1) verify(`old${each}`)
  for (let round = 0; round < 200; round += 1) {
    for (let each = 0; each < 10; each += 1) verify(`new${each}`)
  }
  const before = calls.length
  for (let each = 0; each < 10; each += 1) verify(`new${each}`)
  t.equal(calls.length, before)
})

t.test('with room for one', async (t) => {
  const { verify, calls } = counted({ max: 1 })
  for (const token of ['a', 'a', 'b', 'b', 'b']) verify(token)
  t.strictSame(calls, ['a', 'b'])
})

t.test('no more bytes than the limit, and none for a token that does not fit', async (t) => {
  const { memory, verify, calls } = counted({ max: 1000, maxBytes: 5000 })
  for (let each = 0; each < 300; each += 1) verify(`token${each}${'x'.repeat(500)}${each}`)
  t.ok(memory.bytes <= 5000, `${memory.bytes} bytes`)
  t.ok(memory.bytes > 4000)
  t.equal(memory.size, Math.floor(memory.bytes / 700))
  const { bytes } = memory
  const long = 'y'.repeat(6000)
  verify(long)
  verify(long)
  t.equal(calls.filter((call) => call === long).length, 2)
  t.equal(memory.bytes, bytes, 'it has pushed nothing out')
})

t.test('the claims count too, however they are nested', async (t) => {
  const depth = 50_000
  const deep = JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown
  const shapes: [string, unknown, number][] = [
    ['nothing', undefined, 500],
    ['texts', Array.from({ length: 1000 }, String), 30_000],
    ['objects', Array.from({ length: 1000 }, () => ({})), 60_000],
    ['nested', deep, depth * 64],
    ['null', null, 500],
  ]
  for (const [title, value, least] of shapes) {
    const { memory, verify } = counted({ maxBytes: 2 ** 30 }, (sub) => ({ sub, value }))
    verify('token')
    t.ok(memory.bytes >= (least === 500 ? 150 : least), `${title}: ${memory.bytes}`)
    t.ok(memory.bytes <= Math.max(500, 4 * least), `${title}: ${memory.bytes}`)
  }
})

t.test('what is kept of a token is a copy, and not a window on its header', async (t) => {
  const { gc } = globalThis as { gc?: () => void }
  if (gc === undefined) setFlagsFromString('--expose-gc')
  const collect = gc ?? (runInNewContext('gc') as () => void)
  const heap = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const memory = new TokenMemory(() => ({ claims: {}, typ: undefined }), {
    max: 200,
    maxBytes: 2 ** 25,
  })
  const before = heap()
  for (let each = 0; each < 200; each += 1) {
    const header = Buffer.alloc(100_000, 'x').toString() + `${each}`.padStart(20, '0')
    memory.verify(header.slice(-200))
  }
  const kept = heap() - before
  t.equal(memory.size, 200)
  t.ok(kept < 5_000_000, `${kept} bytes, 20,000,000 if whole headers were kept`)
})

const settings: Record<string, JwtConfig['rememberTokens']> = {
  'by default': undefined,
  'with numbers': { max: 1, maxBytes: 1024 },
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

t.test('a service tells what it remembers, of all methods and after new keys', async (t) => {
  const service = new JwtService({ secret: secret + secret })
  t.strictSame(service.stats().tokens, { size: 0, bytes: 0, hits: 0, misses: 0 })
  const methods = ['HS256', 'HS512'] as const
  const tokens = methods.map((method) => service.generateTokenWithClaims({ sub: 'a' }, method))
  for (let round = 0; round < 3; round += 1) {
    methods.forEach((method, at) => service.verify(String(tokens[at]), method))
  }
  t.throws(() => service.verify(`${tokens[0]}x`))
  const before = service.stats()
  t.match(before.tokens, { size: 2, hits: 4, misses: 3 })
  t.ok(before.tokens.bytes > 600 && before.tokens.bytes < 2000, String(before.tokens.bytes))
  service.verify(String(tokens[0]))
  t.equal(before.tokens.hits, 4, 'what was read does not change')
  await service.reload()
  t.strictSame(service.stats(), {
    keys: { size: 1, reloads: 1, failures: 0 },
    tokens: { size: 0, bytes: 0, hits: 5, misses: 3 },
  })
})

t.test('by default 10,000 tokens are remembered, within 8 MiB', async (t) => {
  const service = new JwtService({ secret })
  const make = (each: number, more: object = {}): string =>
    service.generateTokenWithClaims({ sub: `user${each}`, iss: 'https://me.example', ...more })
  for (let each = 0; each < 10_050; each += 1) service.verify(make(each))
  t.equal(service.stats().tokens.size, 10_000)
  t.ok(service.stats().tokens.bytes < 8 * 2 ** 20)
  for (let each = 0; each < 3000; each += 1) service.verify(make(each, { more: 'x'.repeat(3000) }))
  const { size, bytes } = service.stats().tokens
  t.ok(bytes <= 8 * 2 ** 20 && bytes > 7 * 2 ** 20, `${bytes} bytes`)
  t.ok(size < 10_000)
})

t.test('nothing is counted where nothing is remembered, or nothing is read yet', async (t) => {
  const none = { size: 0, bytes: 0, hits: 0, misses: 0 }
  const service = new JwtService({ secret, rememberTokens: false })
  service.verify(service.generateToken('a'))
  t.strictSame(service.stats().tokens, none)
  const unread = new JwtService({ rsa: { private: 'not/read/yet.pem' } })
  const keys = { size: 0, reloads: 0, failures: 0 }
  t.strictSame(unread.stats(), { keys, tokens: none })
})

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
  const headers = bearer(tokensOf(app).generateToken('alice'))
  for (let round = 0; round < 3; round += 1) {
    t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  }
  t.equal(users.asked.length, 3)
  t.equal(new Set(seen).size, 1, 'one object for all')
  t.notOk('admin' in (seen[0] as object))
  const nameless = bearer(tokensOf(app).generateTokenWithClaims({ sub: ['alice'] }))
  for (let round = 0; round < 2; round += 1) {
    t.equal((await app.inject({ url: '/', headers: nameless })).statusCode, 401)
  }
  t.equal(users.asked.length, 3)
})

t.test('an app tells the counts of the service of its registration', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const shared = new JwtService({ secret })
  const users = userService()
  const routes = (scope: FastifyInstance): void => {
    scope.get('/', { config: { auth: true } }, () => 'ok')
  }
  const scopes: FastifyInstance[] = []
  for (const [prefix, keys] of Object.entries({
    '/a': { jwtService: shared },
    '/b': { jwtService: shared },
    '/c': { jwt: { secret } },
  })) {
    app.register(
      async (scope) => {
        scopes.push(scope)
        await scope.register(authn, { userService: users, ...keys })
        routes(scope)
      },
      { prefix },
    )
  }
  await app.ready()
  const headers = bearer(shared.generateToken('alice'))
  for (const url of ['/a', '/b', '/b', '/c']) {
    t.equal((await app.inject({ url, headers })).statusCode, 200, url)
  }
  const [a, b, c] = scopes.map((scope) => scope.authn.stats().tokens)
  t.match(a, { size: 1, hits: 2, misses: 1 }, 'shared by two registrations')
  t.strictSame(a, b)
  t.match(c, { size: 1, hits: 0, misses: 1 })
})
