import Fastify, { type FastifyInstance, type FastifyPluginAsync, type RouteOptions } from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthMark } from '../../lib/index.js'
import { appWith, bearer, standardOptions } from '../helpers/app.js'
import { bearerChallenge, bootError, isRefusal, isWelcome, probe, texts } from '../helpers/flows.js'

const noToken = { error: texts.none, challenge: bearerChallenge }

function fastify(t: Test, options = {}): FastifyInstance {
  const app = Fastify(options)
  t.teardown(() => app.close())
  return app
}

/** `auth` in the options of app.register. */
const scope = (auth: AuthMark, prefix?: string): object =>
  prefix === undefined ? { auth } : { auth, prefix }

t.test('a mark on the route', async (t) => {
  const { handler, take } = probe()
  const app = await appWith(t, standardOptions(), (app) => {
    app.get('/unmarked', handler)
    app.get('/false', { config: { auth: false } }, handler)
    app.get('/true', { config: { auth: true } }, handler)
    app.route({ method: ['GET', 'PUT'], url: '/route', config: { auth: true }, handler })
    app.all('/all', { config: { auth: true } }, handler)
    app.get('/by-id/:id', { config: { auth: true } }, handler)
  })
  const token = bearer(app.jwtService.generateToken('alice'))

  for (const url of ['/unmarked', '/false']) {
    isWelcome(t, await app.inject(url), null, `${url} is open`)
    isWelcome(t, await app.inject({ url, headers: token }), null, `${url} looks at no token`)
    t.equal(take(), 2)
  }
  for (const url of ['/true', '/route', '/all', '/by-id/1?a=b', '/by-id/%31']) {
    isRefusal(t, await app.inject(url), noToken, `${url} refuses`)
    t.equal(take(), 0, 'the handler did not run')
    isWelcome(t, await app.inject({ url, headers: token }), 'alice', `${url} passes`)
    t.equal(take(), 1)
  }
  isRefusal(t, await app.inject({ method: 'PUT', url: '/route' }), noToken)
  isRefusal(t, await app.inject({ method: 'DELETE', url: '/all' }), noToken)
  t.equal(take(), 0)
})

t.test('HEAD follows its GET', async (t) => {
  const { handler, take } = probe()
  const app = await appWith(t, standardOptions(), async (app) => {
    app.get('/closed', { config: { auth: true } }, handler)
    app.get('/open', handler)
    await app.register(async (app) => void app.get('/group', handler), scope(true))
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  for (const url of ['/closed', '/group']) {
    const refused = await app.inject({ method: 'HEAD', url })
    t.equal(refused.statusCode, 401)
    t.equal(refused.headers['www-authenticate'], bearerChallenge)
    t.equal(refused.headers['cache-control'], 'no-store')
    t.equal(refused.body, '')
    t.equal(take(), 0)
    t.equal((await app.inject({ method: 'HEAD', url, headers })).statusCode, 200)
    t.equal(take(), 1)
  }
  t.equal((await app.inject({ method: 'HEAD', url: '/open' })).statusCode, 200)
  t.equal(take(), 1)
})

t.test('a HEAD takes the mark of its own GET, not of a version that a hook adds', async (t) => {
  const { handler, take } = probe()
  const app = await appWith(t, standardOptions(), (app) => {
    app.addHook('onRoute', ({ method, constraints }) => {
      if (method !== 'GET' || constraints !== undefined) return
      const version = { constraints: { version: '2.0.0' }, config: { auth: false as const } }
      app.get('/x', { ...version, exposeHeadRoute: false }, handler)
    })
    app.get('/x', { config: { auth: true } }, handler)
  })
  t.equal((await app.inject({ method: 'HEAD', url: '/x' })).statusCode, 401)
  t.equal(take(), 0, 'the handler did not run')
})

t.test('the HEAD of a GET that a hook has marked takes that mark', async (t) => {
  const { handler, take } = probe()
  const hooks: Record<string, (app: FastifyInstance) => unknown> = {
    'before the routes': (app) => mark(app, (route) => route.method === 'GET'),
    'by method, after others': (app) => mark(app, ({ method }) => [method].flat().includes('GET')),
    'by constraints that it sets': (app) =>
      app.addHook('onRoute', (route) => {
        if (route.method !== 'GET') return
        route.constraints = { host: 'localhost:80' }
        route.config = { ...route.config, auth: true }
      }),
  }
  function mark(app: FastifyInstance, isMarked: (route: RouteOptions) => boolean): void {
    app.addHook('onRoute', (route) => {
      if (isMarked(route)) route.config = { ...route.config, auth: true }
    })
  }
  for (const [name, hook] of Object.entries(hooks)) {
    const app = await appWith(t, standardOptions(), async (app) => {
      hook(app)
      app.get('/x', handler)
      await app.register(async (app) => void app.get('/', handler), { prefix: '/notes' })
    })
    const headers = bearer(app.jwtService.generateToken('alice'))
    for (const url of ['/x', '/notes', '/notes/']) {
      const refused = await app.inject({ method: 'HEAD', url })
      t.equal(refused.statusCode, 401, `${name}: ${url}`)
      t.equal(refused.headers['www-authenticate'], bearerChallenge)
      t.equal(take(), 0, 'the handler did not run')
      t.equal((await app.inject({ method: 'HEAD', url, headers })).statusCode, 200)
      t.equal(take(), 1)
    }
    const heads = app.authn.routes().filter(({ isAutomaticHead }) => isAutomaticHead)
    t.strictSame(
      heads.map(({ mode, source }) => [mode, source]),
      [1, 2, 3].map(() => [true, 'route']),
      'and the report says so',
    )
  }
})

t.test('a mark on a group, overridden both ways at every depth', async (t) => {
  const { handler, take } = probe()
  const routes: FastifyPluginAsync = async (app) => {
    app.get('/inherits', handler)
    app.get('/opened', { config: { auth: false } }, handler)
    app.get('/closed', { config: { auth: true } }, handler)
    app.get('/softened', { config: { auth: 'try' } }, handler)
  }
  const app = await appWith(t, standardOptions(), async (app) => {
    await app.register(routes, scope(true, '/closed'))
    await app.register(routes, scope(false, '/open'))
    await app.register(routes, { prefix: '/none' })
    await app.register(
      async (app) => {
        await app.register(routes, { prefix: '/inside' })
        await app.register(routes, scope(false, '/public'))
        await app.register(async (app) => {
          await app.register(routes, scope(true, '/closed-again'))
        }, scope(false))
      },
      scope(true, '/deep'),
    )
  })
  const expected: Record<string, boolean> = {
    '/closed': true,
    '/open': false,
    '/none': false,
    '/deep/inside': true,
    '/deep/public': false,
    '/deep/closed-again': true,
  }
  const headers = bearer(app.jwtService.generateToken('bob'))
  for (const [prefix, closed] of Object.entries(expected)) {
    const url = `${prefix}/inherits`
    if (closed) isRefusal(t, await app.inject(url), noToken, url)
    else isWelcome(t, await app.inject(url), null, url)
    t.equal(take(), closed ? 0 : 1)
    isWelcome(t, await app.inject({ url, headers }), closed ? 'bob' : null, url)
    t.equal(take(), 1)
    isWelcome(t, await app.inject(`${prefix}/opened`), null)
    t.equal(take(), 1)
    isRefusal(t, await app.inject(`${prefix}/closed`), noToken)
    t.equal(take(), 0)
    const forged = bearer('a.b.c')
    isWelcome(t, await app.inject({ url: `${prefix}/softened`, headers: forged }), null)
    isWelcome(t, await app.inject({ url: `${prefix}/softened`, headers }), 'bob')
    t.equal(take(), 2)
  }
})

t.test('the plugin option auth in an inner scope leaves the outside open', async (t) => {
  const { handler, take } = probe()
  const app = fastify(t)
  await app.register(
    async (app) => {
      await app.register(authn, { ...standardOptions(), auth: true })
      app.get('/closed', handler)
    },
    { prefix: '/api' },
  )
  app.get('/outside', handler)
  await app.register(async (app) => void app.get('/beside', handler))
  await app.ready()
  isRefusal(t, await app.inject('/api/closed'), noToken)
  t.equal(take(), 0)
  isWelcome(t, await app.inject('/outside'), null)
  isWelcome(t, await app.inject('/beside'), null)
  t.equal(take(), 2)
})

for (const awaited of [true, false]) {
  t.test(`routes declared before the plugin, ${awaited ? 'awaited' : 'not awaited'}`, async (t) => {
    const { handler, take } = probe()
    const app = fastify(t)
    app.get('/early', { config: { auth: true } }, handler)
    app.get('/early-open', handler)
    const child = app.register(
      async (app) => {
        app.get('/marked', { config: { auth: true } }, handler)
        app.get('/open', handler)
        await app.register(async (app) => {
          app.get('/deep', { config: { auth: true } }, handler)
        })
      },
      { prefix: '/child' },
    )
    if (awaited) await child
    const plugin = app.register(authn, standardOptions())
    if (awaited) await plugin
    app.get('/late', { config: { auth: true } }, handler)
    await app.ready()

    const headers = bearer(app.jwtService.generateToken('alice'))
    for (const url of ['/early', '/late', '/child/marked', '/child/deep']) {
      isRefusal(t, await app.inject(url), noToken, `${url} refuses`)
      t.equal(take(), 0, 'the handler did not run')
      isWelcome(t, await app.inject({ url, headers }), 'alice', `${url} passes`)
      t.equal(take(), 1)
      t.equal((await app.inject({ method: 'HEAD', url })).statusCode, 401)
      t.equal(take(), 0)
    }
    for (const url of ['/early-open', '/child/open']) {
      isWelcome(t, await app.inject({ url, headers }), null)
    }
    t.equal(take(), 2)
  })
}

t.test('a mark that a later onRoute hook sets', async (t) => {
  const { handler, take } = probe()
  const app = await appWith(t, standardOptions(), async (app) => {
    app.addHook('onRoute', (route) => {
      if (route.url.startsWith('/admin')) route.config = { ...route.config, auth: true }
      if (route.url.startsWith('/public')) route.config = { ...route.config, auth: false }
    })
    app.get('/admin/users', handler)
    app.get('/public/news', { config: { auth: true } }, handler)
    app.get('/other', handler)
  })
  isRefusal(t, await app.inject('/admin/users'), noToken)
  t.equal(take(), 0)
  const headers = bearer(app.jwtService.generateToken('alice'))
  isWelcome(t, await app.inject({ url: '/admin/users', headers }), 'alice')
  isWelcome(t, await app.inject('/public/news'), null)
  isWelcome(t, await app.inject('/other'), null)
  t.equal(take(), 3)
})

t.test('a bad mark that a later onRoute hook sets never opens a route', async (t) => {
  const { handler, take } = probe()
  const app = fastify(t)
  await app.register(authn, standardOptions())
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, auth: 'required' as never }
  })
  app.get('/typo', handler)
  const error = await bootError(() => app.ready())
  t.match(error, {
    code: 'ERR_AUTH_MARK',
    message: /GET \/typo, config\.auth: found "required", expected true, false/,
  })
  t.equal(take(), 0)
})
