import Fastify, { type RouteOptions } from 'fastify'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { bootError } from '../helpers/flows.js'

const options = { basic: { username: 'a', password: 'b' } }

t.test('a config that a hook replaces stops the boot', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('onRoute', (route) => {
    route.config = { auth: true }
  })
  const error = await bootError(async () => {
    await app.register(authn, options)
    app.get('/x', () => 'open')
    await app.ready()
  })
  t.match(error, { code: 'ERR_AUTH_MARK', message: /route GET \/x, config\.auth.*no effect/ })
})

t.test('what the mark is when the app gets ready counts', async (t) => {
  const late: Record<string, [early: object, late: object, status: number]> = {
    'put on': [{}, { auth: true }, 401],
    'taken away': [{ auth: true }, { auth: false }, 200],
    changed: [{ auth: false }, { auth: { use: 'configBasic' } }, 401],
  }
  for (const [name, [config, change, status]] of Object.entries(late)) {
    const app = Fastify()
    t.teardown(() => app.close())
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

t.test('a mark that is changed in an object of the app stops the boot', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const config: { auth?: boolean } = {}
  const error = await bootError(async () => {
    await app.register(authn, options)
    app.get('/x', { config }, () => 'open')
    config.auth = true
    await app.ready()
  })
  t.match(error, { code: 'ERR_AUTH_MARK', message: /route GET \/x/ })
})
