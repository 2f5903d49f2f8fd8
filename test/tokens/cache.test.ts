// Only the signature of a token is cached.
import t from 'tap'
import { EXTRA_JWT_CLAIMS, JwtService } from '../../lib/index.js'
import { TokenCache } from '../../lib/tokens/cache.js'
import { appWith, bearer, secret, userService } from '../helpers/app.js'
import { thrownBy } from '../helpers/errors.js'
import type { JwtConfig } from '../../types/jwt.js'

const verified = (sub: string) => ({ claims: { sub }, typ: undefined })

t.test('the cache finds a token by its exact string, and counts hits and misses', async (t) => {
  const counts = { hits: 0, misses: 0 }
  const cache = new TokenCache({ max: 10, maxBytes: 2 ** 20 }, counts)
  const one = cache.set('one.0123456789abcdef', verified('one'))
  t.equal(cache.get(Buffer.from('one.0123456789abcdef').toString()), one)
  for (const other of ['two.0123456789abcdef', 'One.0123456789abcdef', '0123456789abcdef', '']) {
    t.equal(cache.get(other), undefined, other)
  }
  t.strictSame(counts, { hits: 1, misses: 4 })
  const two = cache.set('two.0123456789abcdef', verified('two'))
  t.equal(cache.get('two.0123456789abcdef'), two, 'one with the same end takes its place')
  t.equal(cache.get('one.0123456789abcdef'), undefined)
})

t.test('the cache never holds more tokens or bytes than its limits', async (t) => {
  const few = new TokenCache({ max: 2, maxBytes: 1000 })
  for (const token of ['a', 'b', 'c']) few.set(token, verified(token))
  const found = ['a', 'b', 'c'].map((token) => few.get(token)?.claims.sub)
  t.strictSame(found, [undefined, 'b', 'c'])
  const small = new TokenCache({ max: 1000, maxBytes: 1000 })
  for (let each = 0; each < 50; each += 1) {
    small.set(`${each}${'x'.repeat(98)}${each}`.slice(-100), verified('a'))
  }
  t.strictSame([small.size, small.bytes], [10, 1000])
  small.set('y'.repeat(1001), verified('a'))
  t.strictSame([small.size, small.bytes], [10, 1000], 'one that does not fit displaces nothing')
})

const settings: Record<string, JwtConfig['tokenCache']> = {
  'by default': undefined,
  'with numbers': { max: 1, maxBytes: 1024 },
  'switched off': false,
}

for (const [title, tokenCache] of Object.entries(settings)) {
  t.test(`times, issuer and audience are checked each time, token cache ${title}`, async (t) => {
    const service = new JwtService({ secret, issuer: 'me', audience: 'you', tokenCache })
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
      t.equal(thrownBy(() => service.verify(token, 'HS256', rules)).code, 'ERR_AUTH_JWT_INVALID')
    }
  })

  t.test(`a token of one method is rejected for another, token cache ${title}`, async (t) => {
    const service = new JwtService({ secret: secret + secret, tokenCache })
    const token = service.generateTokenWithClaims({ sub: 'a' }, 'HS512')
    t.match(service.verify(token, 'HS512'), { sub: 'a' })
    t.equal(thrownBy(() => service.verify(token, 'HS256')).code, 'ERR_AUTH_JWT_INVALID')
    t.equal(thrownBy(() => service.verify(token)).code, 'ERR_AUTH_JWT_INVALID')
  })
}

t.test('stats() counts tokens of all methods, and keeps counting after a reload', async (t) => {
  const service = new JwtService({ secret: secret + secret })
  const methods = ['HS256', 'HS512'] as const
  const tokens = methods.map((method) => service.generateTokenWithClaims({ sub: 'a' }, method))
  for (let round = 0; round < 3; round += 1) {
    methods.forEach((method, at) => service.verify(String(tokens[at]), method))
  }
  t.throws(() => service.verify(`${tokens[0]}x`))
  const bytes = tokens.join('').length
  const expected = { size: 2, bytes, hits: 4, misses: 3 }
  t.strictSame(service.stats().tokens, expected, 'a rejected token is not stored')
  await service.reload()
  t.strictSame(service.stats(), { keys: { size: 1, reloads: 1, failures: 0 }, tokens: expected })
  const off = new JwtService({ secret, tokenCache: false })
  off.verify(off.generateToken('a'))
  t.strictSame(off.stats().tokens, { size: 0, bytes: 0, hits: 0, misses: 0 })
})

t.test('the user of a cached token is looked up, and its sub checked, each time', async (t) => {
  const users = userService()
  const seen: unknown[] = []
  const app = await appWith(t, { userService: users, jwt: { secret } }, (app) => {
    app.get('/', { config: { auth: true } }, ({ user, extra }) => {
      seen.push(extra[EXTRA_JWT_CLAIMS])
      return user
    })
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  for (let round = 0; round < 3; round += 1) {
    t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  }
  t.equal(users.asked.length, 3)
  t.equal(new Set(seen).size, 1, 'one object for all')
  t.ok(Object.isFrozen(seen[0]), 'shared, so frozen')
  t.match(app.authn.stats().tokens, { size: 1, hits: 2, misses: 1 })
  const nameless = bearer(app.jwtService.generateTokenWithClaims({ sub: ['alice'] }))
  for (let round = 0; round < 2; round += 1) {
    t.equal((await app.inject({ url: '/', headers: nameless })).statusCode, 401)
  }
  t.equal(users.asked.length, 3)
})
