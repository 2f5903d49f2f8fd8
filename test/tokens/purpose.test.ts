// What a token is for: the `typ` of its header (RFC 7515 §4.1.9, RFC 8725 §3.11).
import t, { type Test } from 'tap'
import { anyOf, jwtAuthenticator, JwtService } from '../../lib/index.js'
import { authAttacks, mintToken } from '../../lib/testing/index.js'
import { appWith, bearer, secret, standardOptions, userService } from '../helpers/app.js'
import { thrownBy } from '../helpers/errors.js'
import { isRejection, isWelcome, probe, messages, tokenChallenge } from '../helpers/flows.js'
import { hmacToken } from '../helpers/tokens.js'

const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }
const elsewhere = {
  error: 'This route does not accept these credentials.',
  challenge: tokenChallenge('Not accepted here'),
}
const exp = Math.floor(Date.now() / 1000) + 600
const withTyp = (typ: unknown) => hmacToken({ alg: 'HS256', typ }, { sub: 'alice', exp }, secret)
const withoutTyp = hmacToken({ alg: 'HS256' }, { sub: 'alice', exp }, secret)

const accepted = ['JWT', 'jwt', 'jWt', 'at+jwt', 'AT+JWT', 'application/jwt', 'Application/AT+jwt']
const strings = ['', ' JWT', 'JWTS', 'JWT,at+jwt', 'application/application/jwt', '__proto__']
const rejected: unknown[] = [...strings, 'reset+jwt', null, 0, ['JWT'], { typ: 'JWT' }]

/** One app: the default, one purpose, two purposes, and a choice of two authenticators. */
async function subject(t: Test, tokenCache?: false) {
  const { handler, take } = probe()
  const users = userService()
  const reset = jwtAuthenticator({ typ: 'Reset+JWT' })
  const options = {
    userService: users,
    jwt: { secret, ...(tokenCache === false && { tokenCache }) },
    authenticators: {
      reset,
      two: jwtAuthenticator({ typ: ['application/reset+jwt', 'invite+jwt'] }),
      either: anyOf(jwtAuthenticator(), reset),
    },
  }
  const app = await appWith(t, options, (app) => {
    app.get('/', { config: { auth: true } }, handler)
    for (const use of ['reset', 'two', 'either'])
      app.get(`/${use}`, { config: { auth: { use } } }, handler)
  })
  const get = (url: string, token: string) => app.inject({ url, headers: bearer(token) })
  return { app, users, take, get }
}

for (const tokenCache of [undefined, false] as const) {
  t.test(`routes accept no typ but JWT and at+jwt, with tokenCache: ${tokenCache}`, async (t) => {
    const { get, users, take, app } = await subject(t, tokenCache)
    for (const token of [withoutTyp, ...accepted.map(withTyp)]) {
      // Twice: the second one is cached.
      for (let each = 0; each < 2; each += 1) isWelcome(t, await get('/', token), 'alice')
      t.equal(app.jwtService.verify(token).sub, 'alice')
    }
    take()
    users.asked.length = 0
    for (const typ of rejected) {
      const token = withTyp(typ)
      for (let each = 0; each < 2; each += 1) {
        const expected = typ === 'reset+jwt' ? elsewhere : invalid
        isRejection(t, await get('/', token), expected, JSON.stringify(typ))
      }
      t.equal(thrownBy(() => app.jwtService.verify(token)).code, 'ERR_AUTH_JWT_INVALID')
    }
    t.strictSame([take(), users.asked], [0, []], 'no user was looked up')
  })
}

t.test('each authenticator accepts its own typ, and rejects that of the others', async (t) => {
  const { get, app } = await subject(t)
  const rows: Record<string, string[]> = {
    '/': ['JWT', 'at+jwt'],
    '/reset': ['reset+jwt'],
    '/two': ['reset+jwt', 'invite+jwt'],
    '/either': ['JWT', 'at+jwt', 'reset+jwt'],
  }
  const purposes = ['JWT', 'at+jwt', 'reset+jwt', 'invite+jwt', 'other']
  const tokens = new Map(purposes.map((typ) => [typ, mintToken(app, { sub: 'alice', typ })]))
  for (const [url, welcome] of [...Object.entries(rows), ...Object.entries(rows)]) {
    for (const [typ, token] of tokens) {
      const response = await get(url, token)
      if (welcome.includes(typ)) isWelcome(t, response, 'alice')
      else isRejection(t, response, typ === 'other' ? invalid : elsewhere, `${typ} at ${url}`)
    }
    const expected = url === '/' || url === '/either' ? 200 : 401
    t.equal((await get(url, withoutTyp)).statusCode, expected, `${url} without typ`)
  }
  t.equal(app.authn.stats().tokens.size, purposes.length + 1, 'one cache for all')
})

t.test('the JwtService writes the typ that it is given, and verifies by it', async (t) => {
  const service = new JwtService({ secret })
  const token = service.generateTokenWithClaims({ sub: 'alice' }, 'HS256', { typ: 'reset+jwt' })
  const headerOf = (text: string): unknown =>
    JSON.parse(Buffer.from(String(text.split('.')[0]), 'base64url').toString())
  t.strictSame(headerOf(token), { alg: 'HS256', typ: 'reset+jwt' })
  t.strictSame(headerOf(service.generateToken('alice')), { alg: 'HS256', typ: 'JWT' })
  const none = service.generateTokenWithClaims({ sub: 'a' }, undefined, { typ: undefined })
  t.strictSame(headerOf(none), { alg: 'HS256', typ: 'JWT' })
  t.equal(service.verify(token, 'HS256', { typ: 'RESET+jwt' }).sub, 'alice')
  t.equal(service.verify(token, undefined, { typ: ['x', 'application/reset+jwt'] }).sub, 'alice')
  t.equal(service.verifier('HS256', { typ: 'reset+jwt' }, 'the test')(token).sub, 'alice')
  for (const rules of [undefined, {}, { typ: undefined }, { typ: 'JWT' }, { typ: ['reset'] }]) {
    const { code, error } = thrownBy(() => service.verify(token, 'HS256', rules))
    t.strictSame([code, error.cause], ['ERR_AUTH_JWT_INVALID', 'typ'])
  }
  t.equal(thrownBy(() => service.verify(withoutTyp, 'HS256', { typ: 'JWT' })).code, invalidCode)
  // The typ is checked before the times, and after the signature.
  const old = hmacToken({ alg: 'HS256', typ: 'reset+jwt' }, { sub: 'alice', exp: 1 }, secret)
  t.equal(thrownBy(() => service.verify(old)).code, invalidCode)
  t.equal(thrownBy(() => service.verify(old, 'HS256', { typ: 'reset+jwt' })).code, expiredCode)
})

const invalidCode = 'ERR_AUTH_JWT_INVALID'
const expiredCode = 'ERR_AUTH_JWT_EXPIRED'

t.test('a typ that is no media type is rejected by every function that takes it', async (t) => {
  const service = new JwtService({ secret })
  const generate = (header: unknown) => () =>
    service.generateTokenWithClaims({ sub: 'a' }, 'HS256', header as never)
  const one = ['', ' a', 'application/', 'ä', null, 7]
  for (const typ of [...one, [], [''], ['a', 7]]) {
    const given = { typ } as { typ: string }
    for (const attempt of [
      () => jwtAuthenticator(given),
      () => service.verify(withoutTyp, 'HS256', given),
      () => service.verifier('HS256', given, 'the test'),
      generate(given),
    ]) {
      const { code, message } = thrownBy(attempt)
      t.equal(code, 'ERR_AUTH_OPTION', JSON.stringify(typ))
      t.match(message, /option "\w+\.typ(?:\.\d)?": found .*, expected .*media type/)
    }
  }
  const ofService = () => new JwtService({ secret, typ: 'JWT' } as never)
  const headers = [{ typ: ['a'] }, null, 'reset+jwt', [], { kid: 'x' }]
  for (const attempt of [ofService, ...headers.map(generate)])
    t.equal(thrownBy(attempt).code, 'ERR_AUTH_OPTION')
})

t.test('authAttacks() finds an authenticator that accepts any typ', async (t) => {
  const { app } = await subject(t)
  // What is no token has no purpose.
  const tokens = { sub: 'alice', except: [/^Authorization: /] }
  for (const options of [{ url: '/' }, { url: '/reset', typ: 'reset+jwt' }]) {
    t.strictSame((await authAttacks(app, { ...tokens, ...options })).problems, [], options.url)
  }
  const anyTyp = { typ: ['JWT', 'at+jwt', 'reset+jwt', 'fastify-authn-test+jwt'] }
  const options = { ...standardOptions(), authenticator: jwtAuthenticator(anyTyp) }
  const open = await appWith(t, options, (app) =>
    app.get('/', { config: { auth: true } }, () => 'in'),
  )
  const { problems } = await authAttacks(open, { ...tokens, url: '/' })
  const found = problems.map(({ case: name }) => name)
  t.strictSame(found, ['token: otherPurpose'])
})
