import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { authn, JwtService, type AuthnOptions } from '../../lib/index.js'
import { publicJwk, thumbprintOf } from '../../lib/tokens/keys/key.js'
import { appWith, userService } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { entries, keySetSecret, publicHalf } from '../helpers/key-sets.js'
import { methodCases, moreKeys } from '../helpers/keys.js'
import { privatePem, publicPem } from '../helpers/tokens.js'
import type { KeyEntry } from '../../types/keys.js'

const { a, b, rsa, old } = entries
const wellKnown = '/.well-known/jwks.json'

const options = (jwt: AuthnOptions['jwt']): AuthnOptions => ({ userService: userService(), jwt })

/** Everything that may be published of a key. */
const members = new Set(['kty', 'kid', 'alg', 'use', 'n', 'e', 'crv', 'x', 'y'])

t.test('publish serves the public keys of pairs, and no secrets', async (t) => {
  const pairs = methodCases.filter(
    ({ pair, method }) => pair !== null && !/^[RP]S(?:384|512)|PS/.test(method),
  )
  const list = pairs.map(({ pair, method }, at): KeyEntry => ({
    alg: method,
    private: privatePem(pair?.privateKey as never),
    state: at % 2 === 0 ? 'next' : 'verify',
  }))
  const expired = { ...b, state: 'verify', until: '2020-01-01T00:00:00Z' } as const
  const far = { ...publicHalf(rsa), kid: 'far', until: '2120-01-01T00:00:00Z' }
  const other = { ...far, public: publicPem(moreKeys.otherRsa.publicKey) }
  const jwt = { keys: [...list, expired, other, { ...old, state: 'sign' }], publish: true } as const
  const app = await appWith(t, { ...options(jwt), auth: true, requireMarks: true })
  const reply = await app.inject(wellKnown)
  t.equal(reply.statusCode, 200)
  t.match(reply.headers, {
    'content-type': /^application\/jwk-set\+json$/,
    'cache-control': 'public, max-age=300',
    etag: /^(?:W\/)?"[^"]+"$/,
  })
  const { keys: published } = reply.json() as { keys: Record<string, string>[] }
  t.strictSame(
    published.map(({ alg }) => alg),
    [...pairs.map(({ method }) => method), 'RS256'],
  )
  for (const jwk of published) {
    const surplus = Object.keys(jwk).filter((name) => !members.has(name))
    t.strictSame([surplus, jwk.use], [[], 'sig'], String(jwk.kid))
    t.not(jwk.kty, 'oct')
  }
  const pem = publicPem(pairs[0]?.pair?.publicKey as never)
  t.equal(published[0]?.kid, thumbprintOf(publicJwk(pem)))
  for (const secret of [keySetSecret, Buffer.from(keySetSecret).toString('base64url')]) {
    t.notMatch(reply.body, secret)
  }
})

t.test('the key set answers If-None-Match with 304 until its keys change', async (t) => {
  let keys: unknown[] = [a, b]
  const fs = { readFile: async () => JSON.stringify(keys) }
  const config = { keys: 'keys.json', publish: '/keys.json' }
  const jwtService = new JwtService(config, { fs })
  const app = await appWith(t, { userService: userService(), jwtService })
  const get = (condition?: string, method: 'GET' | 'HEAD' = 'GET') => {
    const headers = condition === undefined ? {} : { 'if-none-match': condition }
    return app.inject({ method, url: '/keys.json', headers })
  }
  const first = await get()
  const etag = String(first.headers.etag)
  const opaque = etag.replace(/^W\//, '')
  for (const known of [etag, opaque, `W/${opaque}`, '*', ` "x", W/${opaque} ,"y"`]) {
    for (const method of ['GET', 'HEAD'] as const) {
      const { statusCode, body, headers } = await get(known, method)
      const found = [statusCode, body, headers.etag, headers['cache-control']]
      t.strictSame(found, [304, '', etag, 'public, max-age=300'], known)
    }
  }
  for (const unknown of ['"x"', opaque.replaceAll('"', ''), '', 'W/"*"', `"${etag.slice(1, 9)}"`]) {
    t.equal((await get(unknown)).statusCode, 200, unknown)
  }
  const head = await get(undefined, 'HEAD')
  t.strictSame([head.statusCode, head.body, head.headers.etag], [200, '', etag])
  t.equal(head.headers['content-length'], String(Buffer.byteLength(first.body)))
  t.equal((await app.inject({ method: 'POST', url: '/keys.json' })).statusCode, 404)
  t.equal((await app.inject(wellKnown)).statusCode, 404)
  keys = [
    { ...a, state: 'verify' },
    { ...b, state: 'sign' },
  ]
  await app.jwtService.reload()
  t.equal((await get(etag)).statusCode, 304, 'a rotation alone changes nothing of the keys')
  keys = [{ ...b, state: 'sign' }]
  await app.jwtService.reload()
  const later = await get(etag)
  t.equal(later.statusCode, 200)
  t.not(later.headers.etag, etag)
})

/** Registers the plugin below a prefix. */
async function below(app: FastifyInstance, prefix: string, given: AuthnOptions): Promise<void> {
  await app.register(
    async (scope) => {
      await scope.register(authn, given)
      scope.get('/me', () => 'in')
    },
    { prefix },
  )
}

const otherKeys = [{ ...b, state: 'sign' }] as const

t.test('the key set is published at the root, whatever the prefix', async (t) => {
  const app = Fastify({ exposeHeadRoutes: false })
  t.teardown(() => app.close())
  app.addHook('onRoute', () => undefined)
  await below(app, '/api', { ...options({ keys: [a], publish: true }), auth: true })
  await below(app, '/b', options({ keys: otherKeys, publish: '/b.json' }))
  await app.ready()
  const statusOf = async (url: string, method: 'GET' | 'HEAD' = 'GET'): Promise<number> =>
    (await app.inject({ method, url })).statusCode
  t.strictSame([await statusOf(wellKnown), await statusOf(wellKnown, 'HEAD')], [200, 200])
  t.strictSame([await statusOf('/b.json'), await statusOf('/api/me')], [200, 401])
  t.equal(await statusOf(`/api${wellKnown}`), 404)
})

t.test('startup fails if the path of the key set is taken', async (t) => {
  const owners: ((app: FastifyInstance) => unknown)[] = [
    (app: FastifyInstance) => app.get(wellKnown, () => 'mine'),
    (app: FastifyInstance) => app.register(authn, options({ keys: [a], publish: true })),
  ]
  for (const declare of owners) {
    const app = Fastify()
    t.teardown(() => app.close())
    await declare(app)
    const second = below(app, '/b', options({ keys: otherKeys, publish: true }))
    const { code, message } = await rejectionOf(second)
    t.equal(code, 'ERR_AUTH_OPTION')
    t.match(message, /"jwt\.publish": GET \/\.well-known\/jwks\.json is already declared/)
  }
})

t.test('registrations publish one service once, and of one scope the last keys', async (t) => {
  const jwtService = new JwtService({ keys: [a], publish: true })
  const shared = { userService: userService(), jwtService }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, shared)
  await below(app, '/b', shared)
  t.match((await app.inject(wellKnown)).json(), { keys: [{ kid: 'a' }] })

  const [twice, last] = [Fastify(), options({ keys: otherKeys, publish: true })]
  t.teardown(() => twice.close())
  await twice.register(authn, options({ keys: [a], publish: true }))
  await twice.register(authn, last)
  t.match((await twice.inject(wellKnown)).json(), { keys: [{ kid: 'b' }] })
})
