import t from 'tap'
import { asSwagger2, isSameScheme, schemesOf } from '../../lib/openapi/schemes.js'
import { anyOf, type Authenticator } from '../../lib/index.js'

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
  const named = new Map([
    ['a/b c', session],
    ['odd', toString],
  ])
  t.strictSame(schemesOf(anyOf(session, anyOf(toString, basic)), named), [
    { name: 'a_b_c', scheme: openapi },
    { name: 'odd', scheme: { type: 'http', scheme: 'tostring' } },
    { name: 'basicAuth', scheme: { type: 'http', scheme: 'basic' } },
  ])
  t.strictSame(schemesOf(session, new Map()), [{ name: 'customAuth', scheme: openapi }])
  t.strictSame(schemesOf({ authenticate }, new Map()), [])
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
