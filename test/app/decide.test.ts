import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import t, { type Test } from 'tap'
import {
  authn,
  basicAuthenticator,
  jwtAuthenticator,
  type Authenticator,
  type AuthnOptions,
} from '../../lib/index.js'
import { appWith, bearer, standardOptions } from '../helpers/app.js'
import {
  bearerChallenge,
  bootError,
  isFault,
  isRefusal,
  isWelcome,
  probe,
  texts,
} from '../helpers/flows.js'

const noToken = { error: texts.none, challenge: bearerChallenge }

// What Fastify loads at a first request is loaded now: some loaders cannot do it where `Object.prototype` has `auth`.
await Fastify().inject('/')

/** Does something while `Object.prototype` has properties that nobody wants there. */
async function polluted<T>(properties: Record<string, unknown>, run: () => Promise<T>): Promise<T> {
  const names = Object.keys(properties)
  const { prototype } = Object
  try {
    for (const name of names) {
      const value = properties[name]
      Object.defineProperty(prototype, name, { value, configurable: true, writable: true })
    }
    return await run()
  } finally {
    for (const name of names) Reflect.deleteProperty(prototype, name)
  }
}

async function declareMarked(
  app: FastifyInstance,
  handler: RouteOptions['handler'],
): Promise<void> {
  app.get('/route', { config: { auth: true } }, handler)
  app.get('/named', { config: { auth: { use: 'jwt' } } }, handler)
  app.get('/empty', { config: {} }, handler)
  await app.register(async (app) => void app.get('/scope', handler), { auth: true })
}

const closed = ['/route', '/named', '/empty', '/scope']
const pollutions: readonly Record<string, unknown>[] = [
  { auth: false },
  { auth: 'try' },
  { auth: { mode: false } },
  { optional: true },
  { mode: false },
  { mode: 'try' },
  { use: 'open' },
  { plan: null },
]
const options = (): AuthnOptions => ({
  ...standardOptions(),
  authenticators: { open: { authenticate: () => ({ name: 'anybody' }) } },
  auth: true,
})

t.test('Object.prototype says nothing of who may call a route, at run time', async (t) => {
  const { handler, take } = probe()
  const app = await appWith(t, options(), (app) => declareMarked(app, handler))
  const headers = bearer(app.jwtService.generateToken('alice'))
  for (const properties of pollutions) {
    await polluted(properties, async () => {
      for (const url of closed) {
        const { statusCode } = await app.inject(url)
        t.equal(statusCode, 401, `${url} with ${JSON.stringify(properties)}`)
      }
    })
    t.equal(take(), 0, 'no handler ran')
  }
  for (const url of closed) isWelcome(t, await app.inject({ url, headers }), 'alice', url)
})

t.test('nor before the boot', async (t) => {
  const { handler, take } = probe()
  for (const properties of pollutions) {
    const name = JSON.stringify(properties)
    await polluted(properties, async () => {
      const app = await appWith(t, options(), (app) => declareMarked(app, handler))
      for (const url of closed) t.equal((await app.inject(url)).statusCode, 401, `${url}: ${name}`)
    })
    t.equal(take(), 0, 'no handler ran')
  }
})

t.test('nor of authenticators that are made before the boot', async (t) => {
  const { handler, take } = probe()
  class Custom implements Authenticator {
    authenticate(): null {
      return null
    }
  }
  const makers: Record<string, () => AuthnOptions['authenticator']> = {
    jwt: () => jwtAuthenticator(),
    basic: () => basicAuthenticator({}),
    custom: () => new Custom(),
    several: () => ['jwt', 'basic'],
  }
  for (const [name, make] of Object.entries(makers)) {
    await polluted({ optional: true }, async () => {
      const app = await appWith(t, { ...standardOptions(), authenticator: make() }, (app) => {
        app.get('/x', { config: { auth: true } }, handler)
      })
      t.equal((await app.inject('/x')).statusCode, 401, name)
    })
    t.equal(take(), 0)
  }
})

t.test('a class of the app may say that its authenticator is optional', async (t) => {
  class Lax implements Authenticator {
    get optional(): boolean {
      return true
    }
    authenticate(): null {
      return null
    }
  }
  const { handler } = probe()
  const app = await appWith(t, { authenticator: new Lax() }, (app) => {
    app.get('/x', { config: { auth: true } }, handler)
  })
  isWelcome(t, await app.inject('/x'), null)
})

t.test('a handler changes nothing for the next request', async (t) => {
  const changes: Record<string, (config: Record<string, unknown>) => unknown> = {
    'auth: false': (config) => (config.auth = false),
    'no auth': (config) => delete config.auth,
    'no url, as where no route matches': (config) => delete config.url,
    'nothing at all': (config) =>
      Reflect.ownKeys(config).forEach((key) => delete config[key as string]),
    'the config of an open route': (config) => Object.assign(config, openConfig),
    'mode: false in a mark that is an object': (config) => {
      if (typeof config.auth === 'object') Object.assign(config.auth as object, { mode: false })
    },
  }
  let openConfig: object = {}
  let change: ((config: Record<string, unknown>) => unknown) | undefined
  const runs: string[] = []
  const handler: RouteOptions['handler'] = (request) => {
    runs.push(request.url)
    change?.(request.routeOptions.config as unknown as Record<string, unknown>)
    return 'ran'
  }
  for (const [name, each] of Object.entries(changes)) {
    const app = await appWith(t, standardOptions(), async (app) => {
      app.get('/open', (request) => {
        openConfig = request.routeOptions.config
        return 'ran'
      })
      app.get('/route', { config: { auth: true } }, handler)
      app.get('/object', { config: { auth: { mode: true } } }, handler)
      await app.register(async (app) => void app.get('/scope', handler), { auth: true })
    })
    await app.inject('/open')
    change = each
    const headers = bearer(app.jwtService.generateToken('alice'))
    for (const url of ['/route', '/object', '/scope']) {
      t.equal((await app.inject({ url, headers })).body, 'ran')
      isRefusal(t, await app.inject(url), noToken, `${name}: ${url}`)
      t.equal(runs.splice(0).length, 1)
    }
  }
})

t.test('nor does one that closes an open route', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    app.get('/', (request) => {
      request.routeOptions.config.auth = true
      return 'ran'
    })
  })
  t.equal((await app.inject('/')).body, 'ran')
  t.equal((await app.inject('/')).body, 'ran')
})

t.test('a mark that comes after the route, in the same tick, stops the boot', async (t) => {
  const { handler } = probe()
  const shared: { auth?: true } = {}
  let kept: RouteOptions | undefined
  const ways: Record<string, (app: FastifyInstance) => unknown> = {
    'in the object of the app': (app) => {
      app.get('/x', { config: shared }, handler)
      shared.auth = true
    },
    'in the options that a hook has kept': (app) => {
      app.get('/x', handler)
      Object.assign(kept?.config ?? {}, { auth: true })
    },
    'in their place': (app) => {
      app.get('/x', handler)
      Object.assign(kept ?? {}, { config: { auth: true } })
    },
  }
  for (const [name, declare] of Object.entries(ways)) {
    const app = Fastify({ exposeHeadRoutes: false })
    t.teardown(() => app.close())
    app.addHook('onRoute', (route) => {
      if (route.url === '/x') kept = route
    })
    const error = await bootError(async () => {
      await app.register(authn, standardOptions())
      declare(app)
      await app.ready()
    })
    t.match(
      error,
      { code: 'ERR_AUTH_MARK', message: /route GET \/x, config\.auth: the mark has no effect/ },
      name,
    )
  }
})

t.test('one config for several routes, and routes that hooks make of others', async (t) => {
  const { handler } = probe()
  const config = Object.freeze({ auth: true } as const)
  const app = await appWith(t, standardOptions(), (app) => {
    app.addHook('onRoute', (route) => {
      if (route.url !== '/b' || route.method !== 'GET') return
      app.route({ ...route, url: '/alias', exposeHeadRoute: false })
    })
    app.get('/a', { config }, handler)
    app.get('/b', { config }, handler)
  })
  for (const url of ['/a', '/b', '/alias']) isRefusal(t, await app.inject(url), noToken, url)
  t.strictSame(Reflect.ownKeys(config), ['auth'], 'the object of the app is as it was')
})

/** Boots an app whose hook does what no hook should. */
async function withHook(t: Test, hook: (route: RouteOptions) => void): Promise<FastifyInstance> {
  const { handler } = probe()
  return await appWith(t, standardOptions(), (app) => {
    app.addHook('onRoute', hook)
    app.get('/x', { exposeHeadRoute: false }, handler)
  })
}

t.test('a route that is not known is closed', async (t) => {
  const app = await withHook(t, (route) => {
    Object.defineProperty(route, 'config', { value: { auth: undefined, other: 1 } })
  }).catch((error: unknown) => error as Error)
  if (app instanceof Error) t.match(app, { code: 'ERR_AUTH_MARK' })
  else isFault(t, await app.inject('/x'), 'ERR_AUTH_UNGUARDED')
  const other = await withHook(t, (route) => {
    Object.defineProperty(route, 'config', { value: { other: 1 } })
  })
  isFault(t, await other.inject('/x'), 'ERR_AUTH_UNGUARDED')
})
