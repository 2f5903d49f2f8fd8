import t from 'tap'
import { asSwagger2, isSameScheme, schemesOf } from '../../lib/openapi/schemes.js'
import { anyOf, jwtAuthenticator, JwtService, type Authenticator } from '../../lib/index.js'
import { secret } from '../helpers/app.js'
import { entries } from '../helpers/rings.js'
import { keys as pairs, privatePem } from '../helpers/tokens.js'
import type { KeyEntry } from '../../types/keys.js'

const authenticate = (): null => null

t.test('whether two schemes ask for the same', async (t) => {
  const bearer = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
  const key = { type: 'apiKey', in: 'header', name: 'X-Api-Key' }
  const query = { type: 'apiKey', in: 'query', name: 'key' }
  const same: [unknown, unknown][] = [
    [bearer, { scheme: 'Bearer', type: 'http' }],
    [bearer, { ...bearer, bearerFormat: 'jwt', description: 'Any' }],
    [key, { name: 'x-api-key', in: 'header', type: 'apiKey' }],
    [query, { ...query }],
  ]
  const different: [unknown, unknown][] = [
    [bearer, { ...bearer, bearerFormat: 'opaque' }],
    [bearer, { type: 'http', scheme: 'basic' }],
    [key, { ...key, name: 'x-other' }],
    [query, { ...query, name: 'KEY' }],
    [bearer, { $ref: '#/components/securitySchemes/other' }],
    [bearer, null],
    [bearer, undefined],
  ]
  for (const [a, b] of same) t.ok(isSameScheme(a, b) && isSameScheme(b, a), JSON.stringify(b))
  for (const [a, b] of different)
    t.notOk(isSameScheme(a, b) || isSameScheme(b, a), JSON.stringify(b))
})

t.test('names of schemes', async (t) => {
  const openapi = { type: 'apiKey', in: 'cookie', name: 'sid' } as const
  const session: Authenticator = { authenticate, openapi }
  const toString: Authenticator = { authenticate, scheme: 'toString' }
  const basic: Authenticator = { authenticate, scheme: 'BASIC' }
  const authenticators = new Map([
    ['a/b c', session],
    ['odd', toString],
  ])
  const named = { authenticators, jwtService: null, cookies: null }
  const none = { authenticators: new Map(), jwtService: null, cookies: null }
  const tokens: unknown[] = []
  t.strictSame(schemesOf([anyOf(session, anyOf(toString, basic))], named), [
    { name: 'a_b_c', otherName: 'a_b_c', scheme: openapi, tokens },
    { name: 'odd', otherName: 'odd', scheme: { type: 'http', scheme: 'tostring' }, tokens },
    {
      name: 'basicAuth',
      otherName: 'customAuth',
      scheme: { type: 'http', scheme: 'basic' },
      tokens,
    },
  ])
  t.match(schemesOf([session], none), [{ name: 'customAuth' }])
  t.strictSame(schemesOf([{ authenticate }], none), [])
})

t.test('what tells bearer tokens apart', async (t) => {
  const keys = { secret, ecdsa: { private: privatePem(pairs.p256.privateKey) } }
  const jwtService = await new JwtService(keys).load()
  const opaque: Authenticator = { authenticate, scheme: 'Bearer' }
  const reader = jwtAuthenticator({ signingMethod: 'ES256' })
  const jwt = jwtAuthenticator()
  const authenticators = new Map([
    ['jwt', jwt],
    ['the reader', reader],
    ['opaque', opaque],
  ])
  const one = (authenticator: Authenticator, service: JwtService | null = jwtService) => {
    const [{ name, otherName, tokens } = { name: '', otherName: '', tokens: [] }] = schemesOf(
      [authenticator],
      { authenticators, jwtService: service, cookies: null },
    )
    t.equal(name, 'bearerAuth')
    t.notMatch(JSON.stringify(tokens), secret)
    return { otherName, tokens }
  }
  const ofJwt = one(jwt)
  t.equal(ofJwt.otherName, 'hs256Auth')
  for (const same of [{ ...jwt }, jwtAuthenticator({ optional: true, claimName: 'name' })])
    t.strictSame(one(same), ofJwt, 'the same tokens')
  t.equal(one(reader).otherName, 'the_reader')
  t.equal(one(jwtAuthenticator({ signingMethod: 'ES256' })).otherName, 'es256Auth')
  t.strictSame(one(opaque), { otherName: 'opaque', tokens: [opaque] })
  t.equal(one({ ...opaque }).otherName, 'bearerAuth')
  t.strictSame(one(jwt, null).tokens, [jwt], 'one that is wrapped in an app without keys')
  const audience = (name: string) => one(jwtAuthenticator({ audience: name })).tokens
  const different = [ofJwt.tokens, one(reader).tokens, audience('a'), audience('b')]
  t.equal(new Set(different.map((tokens) => tokens.join())).size, different.length)
})

t.test('what Swagger 2.0 can say', async (t) => {
  const key = { type: 'apiKey', in: 'query', name: 'key' } as const
  t.strictSame(asSwagger2(key), key)
  t.equal(asSwagger2({ ...key, in: 'cookie' }), null)
  t.equal(asSwagger2({ type: 'mutualTLS' }), null)
  t.strictSame(asSwagger2({ type: 'http', scheme: 'Basic' }), { type: 'basic' })
  t.match(asSwagger2({ type: 'http', scheme: 'dpop' }), {
    type: 'apiKey',
    name: 'Authorization',
    description: 'The word dpop, a space, and the credentials.',
  })
})

t.test('rings: told apart by all their keys', async (t) => {
  const serviceOf = (...keys: KeyEntry[]) => new JwtService({ keys }).load()
  const services = [
    await serviceOf(entries.a),
    await serviceOf(entries.a, entries.old),
    await serviceOf(entries.old, entries.a),
  ]
  const jwt = jwtAuthenticator()
  const [one, two, again] = services.map(
    (jwtService) =>
      schemesOf([jwt], { authenticators: new Map([['jwt', jwt]]), jwtService, cookies: null })[0],
  )
  t.match(one, { name: 'bearerAuth', otherName: 'es256Auth' })
  t.notSame(one?.tokens, two?.tokens)
  t.same(two, again, 'in any order')
})
