import type { FastifyInstance, RouteOptions } from 'fastify'
import t from 'tap'
import { appWith, bearer, standardOptions } from '../helpers/app.js'
import { bearerChallenge, probe } from '../helpers/flows.js'

t.test('a HEAD route has the mark of its own GET, not of a version that a hook adds', async (t) => {
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

t.test('the HEAD route of a GET that a hook has marked has that mark', async (t) => {
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
      const rejected = await app.inject({ method: 'HEAD', url })
      t.equal(rejected.statusCode, 401, `${name}: ${url}`)
      t.match(rejected.headers, {
        'www-authenticate': bearerChallenge,
        'cache-control': 'no-store',
      })
      t.strictSame([rejected.body, take()], ['', 0], 'the handler did not run')
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
