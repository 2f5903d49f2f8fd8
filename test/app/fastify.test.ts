// program: its own
// What this package assumes of the insides of Fastify and of its plugins, where no other test shows it: the name of a
// test says what has changed when it fails. lib/app/fastify.ts is the place to mend it.
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import {
  bodylessMethods,
  configOf,
  isShared,
  nameOfPlugin,
  onNewApp,
  onRouteFirst,
  rootOf,
  scopesWithoutRoutes,
  setFallback,
  watchPlugins,
} from '../../lib/app/fastify.js'

const ok = (): string => 'ok'

function fastify(t: Test): FastifyInstance {
  const app = Fastify()
  t.teardown(() => app.close())
  return app
}

t.test('Fastify publishes each new instance on the channel fastify.initialization', async (t) => {
  const made: FastifyInstance[] = []
  onNewApp((root) => made.push(root))
  const app = fastify(t)
  const found = made.map((each) => each === app)
  t.strictSame(found, [true])
})

t.test('decorate() rejects own names of an instance, and sets inherited ones', async (t) => {
  const app = fastify(t)
  setFallback(app, 'fallback', () => 'fallback')
  const valueIn = (scope: FastifyInstance): unknown => (scope as { fallback?: unknown }).fallback
  t.equal(valueIn(app), 'fallback')
  t.equal(rootOf(app), app)
  await app.register(async (inner) => {
    inner.decorate('fallback', 1)
    t.equal(valueIn(inner), 1)
  })
  app.decorate('fallback', 2)
  t.equal(valueIn(app), 2)
  t.throws(() => app.decorate('fallback', 3), { code: 'FST_ERR_DEC_ALREADY_PRESENT' })
})

t.test('scopes are listed under fastify.children, routes in printRoutes()', async (t) => {
  const app = fastify(t)
  t.strictSame(scopesWithoutRoutes(app), [app])
  await app.register(fp(async () => undefined))
  t.strictSame(scopesWithoutRoutes(app), [app], 'a plugin without a scope of its own adds none')
  const scopes: FastifyInstance[] = []
  await app.register(async (outer) => {
    scopes.push(outer)
    await outer.register(async (inner) => void scopes.push(inner))
  })
  const found = scopesWithoutRoutes(app)
  t.ok([app, ...scopes].every((scope, index) => found[index] === scope) && found.length === 3)
  scopes.at(-1)?.get('/', ok)
  const code = 'ERR_AUTH_MARK'
  t.throws(() => scopesWithoutRoutes(app), { code }, 'a route')
  t.throws(
    () => scopesWithoutRoutes({} as FastifyInstance),
    { code },
    'where scopes are not listed',
  )
})

t.test('fastify.hooks holds the hooks of each scope, in their order', async (t) => {
  const app = fastify(t)
  const ran: string[] = []
  app.addHook('onRoute', () => void ran.push('theirs'))
  await app.register(async (inner) => {
    onRouteFirst([app, inner], () => void ran.push('ours'))
    inner.get('/inner', { exposeHeadRoute: false }, ok)
  })
  app.get('/', { exposeHeadRoute: false }, ok)
  t.strictSame(ran, ['ours', 'theirs', 'ours', 'theirs'])
})

t.test('it is found out where avvio does not show plugins', async (t) => {
  for (const hide of [
    (options: () => object) => () => options(),
    (options: () => object) => () => options.call({ func: null, emit: null }),
    (options: () => object) => () => ({ ...options.call(undefined as never) }),
  ]) {
    const app = fastify(t)
    const { register } = app
    app.register = ((plugin: never, options: never) =>
      register.call(app, plugin, hide(options) as never)) as never
    watchPlugins(app, ({ options }) => options)
    await t.rejects(Promise.resolve(app.ready()), { code: 'ERR_AUTH_MARK' })
  }
})

t.test('fastify.acceptedHTTPMethods holds the methods without a body', async (t) => {
  const app = fastify(t)
  t.strictSame(
    ['GET', 'HEAD', 'POST', 'DELETE'].filter((method) => bodylessMethods(app).has(method)),
    ['GET', 'HEAD'],
  )
  app.addHttpMethod('GET', { hasBody: true })
  t.notOk(bodylessMethods(app).has('GET'))
  t.equal(bodylessMethods(Object.create(null) as FastifyInstance).size, 0, 'unknown')
})

t.test('Fastify copies the own properties of config after all onRoute hooks', async (t) => {
  const app = fastify(t)
  const key = Symbol('mine')
  const reads: string[] = []
  app.addHook('onRoute', (options) => {
    const config = Object.defineProperty({}, key, {
      get: () => (reads.push('read'), 'token'),
      enumerable: true,
    })
    Object.defineProperty(options, 'config', { get: () => config, enumerable: true })
  })
  app.addHook('onRoute', () => void reads.push('last hook'))
  app.get('/', { exposeHeadRoute: false }, ({ routeOptions }) => {
    const { value } = Object.getOwnPropertyDescriptor(routeOptions.config, key) ?? {}
    return String(value)
  })
  t.equal(reads.pop(), 'read', 'when the route is declared, and as the last')
  reads.splice(0)
  t.equal((await app.inject('/')).body, 'token')
  t.strictSame(reads, [], 'a request does not read it again')
})

t.test('fastify.context holds the config of the route, as request.routeOptions does', async (t) => {
  const app = fastify(t)
  app.decorateRequest('own', null)
  app.addHook('onRequest', async (request) => {
    t.equal(configOf(request), request.routeOptions.config)
    const other = { routeOptions: { config: {} } } as unknown as FastifyRequest
    t.equal(configOf(other), other.routeOptions.config, 'without the symbol')
  })
  app.get('/', { config: { own: 1 } as object }, ok)
  await app.register(async (inner) => {
    inner.decorateRequest('more', null)
    inner.get('/inner', ok)
  })
  for (const url of ['/', '/inner', '/missing']) await app.inject(url)
})

t.test('request.routeOptions.config is the same object at every request of a route', async (t) => {
  const app = fastify(t)
  const seen = new Map<string, Set<object>>()
  app.addHook('onRequest', async ({ url, routeOptions }) => {
    seen.set(url, (seen.get(url) ?? new Set()).add(routeOptions.config))
    // It cannot be replaced.
    Object.assign(routeOptions, { config: {} })
  })
  const shared = { config: {} }
  app.get('/a', shared, ok)
  app.get('/b', shared, ok)
  for (const url of ['/a', '/b', '/a', '/b']) await app.inject(url)
  const found = [...seen.values()].map(({ size }) => size)
  t.strictSame(found, [1, 1])
  t.equal(new Set([...seen.values()].flatMap((configs) => [...configs])).size, 2, 'and its own')
})

t.test('fastify-plugin marks plugins by the symbols skip-override and plugin-meta', async (t) => {
  const plugin = fp(async () => undefined, { name: 'theirs' })
  t.equal(nameOfPlugin(plugin), 'theirs')
  t.equal(nameOfPlugin({ default: plugin }), 'theirs', 'also as a module')
  t.ok(isShared(plugin) && isShared({ default: plugin }))
  for (const other of [async () => undefined, {}, null, undefined, 'text', 1]) {
    t.equal(nameOfPlugin(other), undefined, typeof other)
    t.notOk(isShared(other))
  }
})
