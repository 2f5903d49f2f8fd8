// program: its own
// What this package assumes of the insides of Fastify and of its plugins: one test each, whose name says what has
// changed when it fails. lib/app/fastify.ts is the place to mend it.
import cors from '@fastify/cors'
import Fastify, { type FastifyInstance, type FastifyRequest, type RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import {
  bodylessMethods,
  configOf,
  isAutomaticHead,
  isCorsPreflight,
  isShared,
  isWithin,
  nameOfPlugin,
  onNewApp,
  onRouteFirst,
  rootOf,
  scopesWithoutRoutes,
  setFallback,
  urlsOf,
  watchPlugins,
  watchRegister,
} from '../../lib/app/fastify.js'

type Told = RouteOptions & { readonly routePath: string }

const ok = (): string => 'ok'

function fastify(t: Test, options = {}): FastifyInstance {
  const app = Fastify(options)
  t.teardown(() => app.close())
  return app
}

/** Everything that `onRoute` tells of, with a copy of the URL at that time. */
function told(app: FastifyInstance): { options: Told; url: string; server: FastifyInstance }[] {
  const all: { options: Told; url: string; server: FastifyInstance }[] = []
  app.addHook('onRoute', function remember(this: FastifyInstance, options) {
    all.push({ options, url: options.url, server: this })
  })
  return all
}

t.test('Fastify publishes each new instance on the channel fastify.initialization', async (t) => {
  const made: FastifyInstance[] = []
  onNewApp((root) => made.push(root))
  const app = fastify(t)
  t.strictSame(
    made.map((each) => each === app),
    [true],
  )
})

t.test('a scope has the scope around it as its prototype', async (t) => {
  const app = fastify(t)
  await app.register(async (inner) => {
    await inner.register(async (deep) => {
      t.equal(rootOf(deep), app)
      t.ok(isWithin(deep, inner) && isWithin(deep, app) && isWithin(deep, deep))
      t.notOk(isWithin(inner, deep))
    })
  })
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

t.test('avvio shows the plugins that are queued, and those around a plugin', async (t) => {
  const app = fastify(t)
  const seen: unknown[] = []
  const late = async (scope: FastifyInstance): Promise<void> => {
    watchPlugins(scope, ({ func, options, server }, isStarting) => {
      seen.push([server === scope, (func as { name: string }).name, options, isStarting])
      return { ...(options as object), amended: true }
    })
  }
  async function queued(own: FastifyInstance, options: object): Promise<void> {
    seen.push([options, Object.getPrototypeOf(own) === app])
  }
  async function around(scope: FastifyInstance): Promise<void> {
    scope.register(fp(late, { name: 'late' }))
    scope.register(
      fp(async function shared() {}),
      { two: 2 },
    )
  }
  app.register(around, { one: 1 } as object)
  app.register(queued, () => ({ three: 3 }))
  // What is loaded into another app at that time is not told.
  const other = fastify(t).register(async () => undefined, { four: 4 } as object)
  await Promise.all([app.ready(), other.ready()])
  t.match(seen, [
    [true, 'probe', {}, true],
    [true, 'late', {}, false],
    [true, 'shared', { two: 2 }, true],
    [true, 'around', { one: 1 }, false],
    [false, 'queued', { three: 3 }, true],
    [{ three: 3, amended: true }, true],
  ])
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

t.test('a HEAD route that Fastify adds ends its onSend with headRouteOnSendHandler', async (t) => {
  const app = fastify(t)
  const routes = told(app)
  app.get('/plain', ok)
  app.get('/hook', { onSend: async (_request, _reply, payload) => payload }, ok)
  app.get('/hooks', { onSend: [async (_request, _reply, payload) => payload] }, ok)
  app.head('/own', ok)
  t.strictSame(
    routes.filter(({ options }) => isAutomaticHead(options)).map(({ url }) => url),
    ['/plain', '/hook', '/hooks'],
  )
})

t.test('the HEAD route of a GET route is declared right after it', async (t) => {
  const app = fastify(t)
  const routes = told(app)
  app.get('/a', ok)
  app.get('/b', ok)
  t.strictSame(
    routes.map(({ options, url }) => `${String(options.method)} ${url}`),
    ['GET /a', 'HEAD /a', 'GET /b', 'HEAD /b'],
  )
})

t.test('onRoute runs once for a route / in a prefix, which has two URLs', async (t) => {
  for (const prefixTrailingSlash of ['both', 'slash', 'no-slash'] as const) {
    const app = fastify(t, { exposeHeadRoutes: false })
    const routes = told(app)
    await app.register(async (app) => void app.get('/', { prefixTrailingSlash }, ok), {
      prefix: '/notes',
    })
    await app.ready()
    t.equal(routes.length, 1)
    const urls = new Set(routes.flatMap(({ options, url }) => urlsOf(options, url)))
    for (const url of ['/notes', '/notes/']) {
      t.equal((await app.inject(url)).statusCode, urls.has(url) ? 200 : 404, url)
    }
  }
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
  t.strictSame(
    [...seen.values()].map(({ size }) => size),
    [1, 1],
  )
  t.equal(new Set([...seen.values()].flatMap((configs) => [...configs])).size, 2, 'and its own')
})

t.test('the route of @fastify/cors is OPTIONS *, named by pluginName of its scope', async (t) => {
  const app = fastify(t)
  const routes = told(app)
  await app.register(async (app) => void app.options('*', ok), { prefix: '/before' })
  await app.register(
    async (app) => {
      await app.register(cors)
      app.options('*', { constraints: { host: 'other' } }, ok)
      app.options('/*', ok)
      await app.register(async (app) => void app.options('*', ok), { prefix: '/inside' })
    },
    { prefix: '/in' },
  )
  const root = fastify(t)
  const atRoot = told(root)
  await root.register(cors)
  await root.register(async (app) => void app.options('*', ok), { prefix: '/after' })
  const found = [...routes, ...atRoot].filter(({ options, server }) =>
    isCorsPreflight(options, server),
  )
  t.strictSame(
    found.map(({ url }) => url),
    ['/in*', '*'],
  )
  t.throws(() => root.options('*', ok), { code: 'FST_ERR_DUPLICATED_ROUTE' }, 'and is the only one')
})

t.test('scopes inherit register from the root', async (t) => {
  const app = fastify(t)
  const calls: unknown[] = []
  watchRegister(app, (_, options) => {
    calls.push(options)
    return options
  })
  await app.register(
    async (app) => {
      await app.register(
        fp(async (app: FastifyInstance) => void app.decorateRequest('two', null)),
        { deep: 1 },
      )
      t.ok(app.hasRequestDecorator('two'), 'and it is called for the scope')
    },
    { prefix: '/in' },
  )
  t.strictSame(calls, [{ prefix: '/in' }, { deep: 1 }])
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

t.test('app.register passes on promises of modules and functions of options', async (t) => {
  const app = fastify(t)
  const seen: unknown[] = []
  app.addHook('onRegister', (_, options) => void seen.push(options))
  const plugin = async (_: FastifyInstance, options: object): Promise<void> => {
    seen.push(options)
  }
  const given = { prefix: '/a' }
  const amended = Promise.resolve().then(() => {
    Object.assign(given, { late: true })
    return { default: plugin }
  })
  await app.register(amended, given)
  t.strictSame(seen.splice(0), [given, given], 'options may be amended until a module is loaded')
  await app.register(plugin, () => given)
  t.strictSame(seen, [seen[0], given])
  t.type(seen[0], 'function', 'onRegister is not told what a function returns')
})
