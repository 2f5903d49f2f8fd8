import t from 'tap'
import { authn } from '../../lib/index.js'
import { appWith, bearer, standardOptions, fastify } from '../helpers/app.js'
import { bearerChallenge, isRejection, isWelcome, probe, messages } from '../helpers/flows.js'

const noToken = { error: messages.none, challenge: bearerChallenge }

t.test('a protected route rejects every method and URL that it matches', async (t) => {
  const { handler, take } = probe()
  const app = await appWith(t, standardOptions(), (app) => {
    app.get('/unmarked', handler)
    app.route({ method: ['GET', 'PUT'], url: '/route', config: { auth: true }, handler })
    app.all('/all', { config: { auth: true } }, handler)
    app.get('/by-id/:id', { config: { auth: true } }, handler)
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  isWelcome(t, await app.inject({ url: '/unmarked', headers }), null, 'no token is looked at')
  t.equal(take(), 1)
  for (const [method, url] of [
    ['GET', '/route'],
    ['PUT', '/route'],
    ['DELETE', '/all'],
    ['GET', '/by-id/1?a=b'],
    ['GET', '/by-id/%31'],
  ] as const) {
    isRejection(t, await app.inject({ method, url }), noToken, `${method} ${url}`)
    t.equal(take(), 0, 'the handler did not run')
    isWelcome(t, await app.inject({ method, url, headers }), 'alice', `${method} ${url}`)
    t.equal(take(), 1)
  }
})

t.test('the option auth of an inner registration leaves routes outside of it open', async (t) => {
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
  isRejection(t, await app.inject('/api/closed'), noToken)
  t.equal(take(), 0)
  isWelcome(t, await app.inject('/outside'), null)
  isWelcome(t, await app.inject('/beside'), null)
  t.equal(take(), 2)
})

for (const awaited of [true, false]) {
  t.test(`routes before the plugin are protected, awaited: ${awaited}`, async (t) => {
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
      isRejection(t, await app.inject(url), noToken, `${url} rejects`)
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

t.test('a mark that a later onRoute hook sets protects or opens the route', async (t) => {
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
  isRejection(t, await app.inject('/admin/users'), noToken)
  t.equal(take(), 0)
  const headers = bearer(app.jwtService.generateToken('alice'))
  isWelcome(t, await app.inject({ url: '/admin/users', headers }), 'alice')
  isWelcome(t, await app.inject('/public/news'), null)
  isWelcome(t, await app.inject('/other'), null)
  t.equal(take(), 3)
})
