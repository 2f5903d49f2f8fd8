import Fastify, { type RouteOptions } from 'fastify'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { bootError } from '../helpers/flows.js'

const options = { basic: { username: 'a', password: 'b' } }

t.test('a mark that comes too late stops the boot', async (t) => {
  const marks: Record<string, [early: object | undefined, late: object]> = {
    'put on': [undefined, { auth: true }],
    'taken away': [{ auth: true }, {}],
    changed: [{ auth: 'optional' }, { auth: true }],
  }
  for (const [name, [early, late]] of Object.entries(marks)) {
    const app = Fastify()
    t.teardown(() => app.close())
    const routes: RouteOptions[] = []
    app.addHook('onRoute', (route) => {
      if (route.url !== '/x') return
      // Here it has an effect.
      route.config = { ...early }
      routes.push(route)
    })
    app.addHook('onReady', async () => {
      for (const route of routes)
        route.config = { ...route.config, auth: undefined, ...late } as never
    })
    const error = await bootError(async () => {
      await app.register(authn, { ...options, audit: 'explicit' })
      app.get('/x', { exposeHeadRoute: false }, () => 'open')
      await app.ready()
    })
    t.match(
      error,
      {
        code: 'ERR_AUTH_MARK',
        message: /route GET \/x, config\.auth: the mark has no effect/,
      },
      name,
    )
  }
})

t.test('a mark that Fastify does not copy stops the boot', async (t) => {
  class Config {
    get auth(): true {
      return true
    }
  }
  const configs: Record<string, object> = {
    inherited: Object.create({ auth: true }) as object,
    'a getter of a class': new Config(),
    'not enumerable': Object.defineProperty({}, 'auth', { value: true }),
  }
  for (const [name, config] of Object.entries(configs)) {
    const app = Fastify()
    t.teardown(() => app.close())
    const error = await bootError(async () => {
      await app.register(authn, { ...options, audit: 'explicit' })
      app.get('/x', { config }, () => 'open')
      await app.ready()
    })
    t.match(
      error,
      { code: 'ERR_AUTH_MARK', message: /route GET \/x.*the mark has no effect/ },
      name,
    )
  }
})
