import Fastify from 'fastify'
import t from 'tap'
import { authn, EXTRA_JWT_CLAIMS } from '../../lib/index.js'
import { appWith, bearer, standardOptions } from '../helpers/app.js'

t.test('request.bearerToken() returns a well-formed Bearer token, or null', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    app.get('/', (request) => ({ token: request.bearerToken() }))
    app.get('/closed', { config: { auth: true } }, (request) => ({ token: request.bearerToken() }))
  })
  const cases: [string | undefined, string | null][] = [
    [undefined, null],
    ['Bearer', null],
    ['Bearer a-._~+/9==', 'a-._~+/9=='],
    ['bearer abc', 'abc'],
    ['Bearer a b', null],
    ['Bearer é', null],
    ['Basic YTpi', null],
  ]
  for (const [authorization, token] of cases) {
    const headers = authorization === undefined ? {} : { authorization }
    const response = await app.inject({ url: '/', headers })
    t.equal(response.statusCode, 200)
    t.strictSame(response.json(), { token }, String(authorization))
  }
  const token = app.jwtService.generateToken('alice')
  t.strictSame((await app.inject({ url: '/closed', headers: bearer(token) })).json(), { token })
})

t.test('each request has its own request.extra, without prototype and read-only', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    app.addHook('onRequest', async (request) => {
      request.extra.started ??= request.id
    })
    app.get('/', { config: { auth: 'optional' } }, (request) => {
      const key = Symbol('mine')
      request.extra[key] = 1
      request.extra.mine = request.headers['x-mine']
      return {
        prototype: Object.getPrototypeOf(request.extra) as unknown,
        same: request.extra === request.extra,
        started: request.extra.started === request.id,
        keys: Object.keys(request.extra).sort(),
        symbol: request.extra[key],
        inherited: 'constructor' in request.extra,
        claims: request.extra[EXTRA_JWT_CLAIMS]?.sub ?? null,
      }
    })
    app.get('/assign', (request) => {
      try {
        ;(request as { extra: unknown }).extra = {}
        return { assigned: true }
      } catch (error) {
        return { assigned: (error as Error).name }
      }
    })
  })
  const common = { prototype: null, same: true, started: true, symbol: 1, inherited: false }
  t.strictSame((await app.inject('/')).json(), {
    ...common,
    keys: ['mine', 'started'],
    claims: null,
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.strictSame((await app.inject({ url: '/', headers })).json(), {
    ...common,
    keys: ['authenticator', 'jwtClaims', 'mine', 'started'],
    claims: 'alice',
  })
  t.strictSame((await app.inject('/assign')).json(), { assigned: 'TypeError' }, 'it is read-only')
})

t.test('handlers of routes, errors and unknown URLs find the request fields', async (t) => {
  const fields = (request: {
    user: object | null
    extra: object
    lang: string
    bearerToken(): string | null
  }): object => ({
    user: request.user,
    extra: Object.keys(request.extra),
    lang: request.lang,
    token: request.bearerToken(),
  })
  const expected = { user: null, extra: [], lang: 'de', token: 'abc' }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(async (app) => void app.get('/before', fields))
  await app.register(authn, standardOptions())
  app.get('/here', fields)
  app.post('/post', fields)
  await app.register(async (app) => void app.get('/below', fields))
  app.get('/throws', () => {
    throw new Error('x')
  })
  app.setErrorHandler((_, request, reply) => reply.code(500).send(fields(request)))
  app.setNotFoundHandler((request, reply) => reply.code(404).send(fields(request)))
  const headers = { ...bearer('abc'), 'accept-language': 'de' }
  for (const url of ['/before', '/here', '/below', '/throws', '/nowhere']) {
    t.strictSame((await app.inject({ url, headers })).json(), expected, url)
  }
  const posted = await app.inject({ method: 'POST', url: '/post', headers, payload: {} })
  t.strictSame(posted.json(), expected)
})

t.test('a registration in a scope adds no fields to requests outside it', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(async (app) => {
    await app.register(authn, standardOptions())
    app.get('/inside', (request) => ({ fields: 'user' in request && 'extra' in request }))
  })
  app.get('/outside', (request) => ({ fields: 'user' in request || 'extra' in request }))
  t.strictSame((await app.inject('/inside')).json(), { fields: true })
  t.strictSame((await app.inject('/outside')).json(), { fields: false })
})

t.test(
  'a scope with decorators of its own, which was made before the plugin was registered, gets those of the plugin',
  async (t) => {
    for (const value of [null, undefined, 'text', 0]) {
      const app = Fastify()
      t.teardown(() => app.close())
      await app.register(async (app) => {
        for (const name of ['extra', 'lang', 'bearerToken']) {
          app.decorateRequest(name, value as never)
        }
        app.get('/', { config: { auth: true } }, ({ extra }) => ({ keys: Object.keys(extra) }))
      })
      await app.register(authn, standardOptions())
      await app.ready()
      t.equal((await app.inject('/')).statusCode, 401)
      const headers = bearer(app.jwtService.generateToken('alice'))
      const passed = await app.inject({ url: '/', headers })
      t.strictSame(
        passed.json(),
        { keys: ['authenticator', EXTRA_JWT_CLAIMS] },
        'the fields of the plugin',
      )
    }
  },
)
