import type { FastifyInstance, RouteOptions, RouteShorthandOptions } from 'fastify'
import fp from 'fastify-plugin'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { fastify, logLines } from '../helpers/app.js'
import { startupError } from '../helpers/flows.js'

const options = { basic: { username: 'a', password: 'b' } }

t.test('a config that a hook replaces makes startup fail', async (t) => {
  const app = fastify(t)
  app.addHook('onRoute', (route) => {
    route.config = { auth: true }
  })
  const error = await startupError(async () => {
    await app.register(authn, options)
    app.get('/x', () => 'open')
    await app.ready()
  })
  t.match(error, { code: 'ERR_AUTH_MARK', message: /route GET \/x, config\.auth.*no effect/ })
})

t.test('the mark that a route has when the app gets ready counts', async (t) => {
  const late: Record<string, [early: object, late: object, status: number]> = {
    'put on': [{}, { auth: true }, 401],
    'taken away': [{ auth: true }, { auth: false }, 200],
    changed: [{ auth: false }, { auth: { use: 'configBasic' } }, 401],
  }
  for (const [name, [config, change, status]] of Object.entries(late)) {
    const app = fastify(t)
    const routes: RouteOptions[] = []
    app.addHook('onRoute', (route) => void routes.push(route))
    app.addHook('onReady', async () => {
      for (const route of routes) route.config = { ...route.config, ...change }
    })
    await app.register(authn, options)
    app.get('/x', { config }, () => 'open')
    t.equal((await app.inject('/x')).statusCode, status, name)
    t.equal((await app.inject({ method: 'HEAD', url: '/x' })).statusCode, status, name)
  }
})

t.test('a mark that is set in a config after its route makes startup fail', async (t) => {
  const app = fastify(t)
  const config: { auth?: boolean } = {}
  const error = await startupError(async () => {
    await app.register(authn, options)
    app.get('/x', { config }, () => 'open')
    config.auth = true
    await app.ready()
  })
  t.match(error, { code: 'ERR_AUTH_MARK', message: /route GET \/x/ })
})

t.test('undefined hooks give one warning that names their routes and scopes', async (t) => {
  const { lines, stream } = logLines()
  const app = fastify(t, { logger: { stream } })
  // As @fastify/rate-limit does, which comes before the plugin.
  app.addHook('onRoute', (route) => {
    route.onRequest ??= (_request, _reply, done) => done()
  })
  const ok = (): string => 'ok'
  const { authenticate } = app as { authenticate?: () => void }
  const undefinedHook = (hook: string) => ({ [hook]: authenticate }) as RouteShorthandOptions
  app.get('/before', undefinedHook('onRequest'), ok)
  await app.register(authn, options)
  app.get('/a', undefinedHook('preValidation'), ok)
  app.route({
    method: ['PUT', 'POST'],
    url: '/b',
    config: { auth: true },
    preHandler: authenticate as never,
    preValidation: [],
    handler: ok,
  })
  app.get('/fine', { preHandler: (_request, _reply, done) => done() }, ok)
  app.get('/other', { preParsing: authenticate as never }, ok)
  const scope = async (inner: FastifyInstance): Promise<void> => void inner.get('/', ok)
  await app.register(scope, { prefix: '/scope', ...undefinedHook('onRequest') })
  await app.register(scope, () => ({ prefix: '/computed', ...undefinedHook('preHandler') }))
  await app.ready()
  const warnings = lines.filter(({ level, msg }) => level === 40 && /undefined/.test(String(msg)))
  t.equal(warnings.length, 1)
  const expected = [
    'onRequest of GET /before',
    'preValidation of GET /a',
    'preHandler of POST,PUT /b',
    'onRequest of app.register(…, { prefix: "/scope" })',
    'preHandler of app.register(…, { prefix: "/computed" })',
  ]
  t.match(warnings[0]?.msg, `: ${expected.join(', ')}. `)
})

t.test('auth or requireMarks in a scope without routes makes startup fail', async (t) => {
  const ok = (): string => 'ok'
  const start = (
    given: object,
    wrap: (plugin: (app: FastifyInstance) => Promise<void>) => (app: FastifyInstance) => unknown,
    declare: (app: FastifyInstance) => unknown = (app) => app.get('/x', ok),
  ): Promise<unknown> => {
    const app = fastify(t)
    return startupError(async () => {
      await app.register(
        wrap(async (inner) => {
          await inner.register(authn, { ...options, ...given })
        }) as never,
      )
      await declare(app)
      await app.ready()
    })
  }
  type Wrapped = (app: FastifyInstance) => unknown
  const plain = (plugin: Wrapped): Wrapped => plugin
  const withRoute = (plugin: Wrapped): Wrapped =>
    async function routes(app) {
      await plugin(app)
      app.get('/in', ok)
    }
  for (const given of [{ auth: true }, { auth: { use: 'configBasic' } }, { requireMarks: true }]) {
    const [option] = Object.keys(given)
    const message = new RegExp(`"${option}": .*no routes.*GET /x.*fastify-plugin`)
    t.match(await start(given, plain), { code: 'ERR_AUTH_OPTION', message })
    t.equal(await start(given, plain, () => undefined), undefined, 'no routes at all')
    const decided = (app: FastifyInstance) => app.get('/x', { config: { auth: false } }, ok)
    t.equal(await start(given, plain, decided), undefined, 'a decided one')
  }
  t.equal(await start({ auth: true }, fp), undefined, 'with fastify-plugin')
  t.equal(await start({ auth: true }, withRoute), undefined, 'with a route in the scope')
  for (const given of [{}, { auth: false }]) t.equal(await start(given, plain), undefined)
})
