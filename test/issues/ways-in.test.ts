// Ways past the guard that a review of this package has found, each with the app that it was open in.
import { createRequire } from 'node:module'
import cors from '@fastify/cors'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import t from 'tap'
import { AuthenticationError, authn } from '../../lib/index.js'
import { appWith, bearer, secret, standardOptions } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { basicChallenge, bootError } from '../helpers/flows.js'

const options = { basic: { username: 'a', password: 'b' } }

t.test('a mark on a plugin that has no scope of its own stops the boot', async (t) => {
  const routes = fp(async (app: FastifyInstance) => {
    app.get('/x', () => 'open')
  })
  const ways: Record<string, (app: FastifyInstance) => unknown> = {
    before: (app) => {
      void app.register(routes, { auth: true } as object)
      void app.register(authn, options)
    },
    after: async (app) => {
      await app.register(authn, options)
      await app.register(routes, { auth: 'optional' } as object)
    },
    inside: async (app) => {
      await app.register(authn, options)
      await app.register(async (inner) => {
        await inner.register(routes, { auth: { use: 'configBasic' } } as object)
      })
    },
    'marked by hand as without a scope, truthy as Fastify takes it': async (app) => {
      await app.register(authn, options)
      const plain = async (inner: FastifyInstance) => void inner.get('/x', () => 'open')
      await app.register(Object.assign(plain, { [Symbol.for('skip-override')]: 1 }), {
        auth: true,
      } as object)
    },
    'a module that is loaded': (app) => {
      void app.register(authn, options)
      void app.register(Promise.resolve({ default: routes }), { auth: true } as object)
    },
    'a module that is loaded before the plugin': (app) => {
      void app.register(Promise.resolve(routes) as never, { auth: true } as object)
      void app.register(authn, options)
    },
    'options that are a function': async (app) => {
      await app.register(authn, options)
      await app.register(
        async (inner: FastifyInstance) => {
          inner.get('/x', () => 'open')
        },
        () => ({ prefix: '/p', auth: true }),
      )
    },
  }
  for (const [name, declare] of Object.entries(ways)) {
    const app = Fastify()
    t.teardown(() => app.close())
    const error = await rejectionOf(
      (async () => {
        await declare(app)
        await app.ready()
      })(),
    )
    t.equal(error.code, 'ERR_AUTH_MARK', name)
    t.match(error.message, /the mark has no effect/, name)
  }
})

t.test('a mark on a module that is loaded, where it has an effect', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(Promise.resolve({ default: authn }) as never, () => ({ ...options, auth: true }))
  app.register(
    Promise.resolve({
      default: async (inner: FastifyInstance) => void inner.get('/open', () => 'open'),
    }),
    { auth: false } as object,
  )
  app.get('/closed', () => 'open')
  const closed = await app.inject('/closed')
  t.equal(closed.statusCode, 401, 'the option of the plugin')
  t.equal(closed.headers['www-authenticate'], basicChallenge)
  t.strictSame(closed.json(), { error: 'Invalid or missing authentication header.' })
  t.equal((await app.inject('/open')).body, 'open', 'the mark of a scope')
})

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

t.test('an option `auth` of another plugin is none of our business', async (t) => {
  const seen: unknown[] = []
  const mailer = fp(async (_: FastifyInstance, own: { auth?: unknown }) => {
    seen.push(own.auth)
  })
  const auth = { user: 'me', pass: 'secret' }
  await appWith(t, options, async (app) => {
    await app.register(mailer, { auth })
    await app.register(mailer, () => ({ auth }))
  })
  t.strictSame(seen, [auth, auth])
})

t.test(
  'loaded after the app was made, it does not trust scopes that it has not heard of',
  async (t) => {
    // A Fastify of its own, of which the package was never told.
    const require = createRequire(import.meta.url)
    const { channel } = await import('node:diagnostics_channel')
    const initialization = channel('fastify.initialization')
    const subscribers = initialization as unknown as { _subscribers?: unknown[] }
    const present = subscribers._subscribers
    subscribers._subscribers = []
    const app = (require('fastify') as typeof Fastify)()
    subscribers._subscribers = present as unknown[]
    t.teardown(() => app.close())
    void app.register(
      async (inner) => {
        inner.get('/admin', () => 'open')
      },
      { auth: true } as object,
    )
    void app.register(authn, options)
    const error = await rejectionOf(Promise.resolve(app.ready()))
    t.equal(error.code, 'ERR_AUTH_MARK')
    t.match(error.message, /loaded after the app was made.*Load fastify-authn before/)
  },
)

t.test('a preflight reaches no handler of the app', async (t) => {
  for (const withCors of [false, true]) {
    let calls = 0
    const app = await appWith(t, { ...options, auth: true }, async (app) => {
      await app.register(
        async (inner) => {
          inner.all('/files/*', () => (calls += 1))
          inner.options('/proxy/*', () => (calls += 1))
        },
        { prefix: '/in' },
      )
      app.options('/all*', () => (calls += 1))
      if (withCors) await app.register(cors)
    })
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
    for (const url of ['/in/files/x', '/in/proxy/x', '/all']) {
      const response = await app.inject({ method: 'OPTIONS', url, headers })
      t.equal(response.statusCode, 401, url)
    }
    t.equal(calls, 0)
    const elsewhere = await app.inject({ method: 'OPTIONS', url: '/other', headers })
    t.equal(elsewhere.statusCode, withCors ? 204 : 404)
  }
})

t.test('an error that is returned is no user', async (t) => {
  let calls = 0
  let returned: unknown
  const app = await appWith(
    t,
    { authenticator: { authenticate: () => returned as never } },
    (app) => {
      app.get('/', { config: { auth: true } }, () => (calls += 1))
    },
  )
  returned = new AuthenticationError('auth.invalid-credentials')
  const refused = await app.inject('/')
  t.equal(refused.statusCode, 401)
  t.strictSame(refused.json(), { error: 'Invalid credentials.' })
  returned = new Error('database down')
  const failed = await app.inject('/')
  t.equal(failed.statusCode, 500)
  t.notMatch(failed.body, /database/)
  t.equal(calls, 0)

  const findByUsername = async () => new Error('database down')
  const tokens = await appWith(t, { userService: { findByUsername }, jwt: { secret } }, (app) => {
    app.get('/', { config: { auth: true } }, () => (calls += 1))
  })
  const headers = bearer(tokens.jwtService.generateToken('alice'))
  t.equal((await tokens.inject({ url: '/', headers })).statusCode, 500)
  t.equal(calls, 0)
})

t.test('two Authorization headers are refused, whichever is right', async (t) => {
  let calls = 0
  const app = await appWith(t, standardOptions(), (app) => {
    app.get('/', { config: { auth: true } }, () => (calls += 1))
    app.get('/optional', { config: { auth: 'optional' } }, () => (calls += 1))
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { authorization } = bearer(app.jwtService.generateToken('alice'))
  const { port } = app.server.address() as AddressInfo
  const { connect } = await import('node:net')
  for (const path of ['/', '/optional']) {
    for (const values of [
      [authorization, 'Bearer wrong'],
      ['Bearer wrong', authorization],
      [authorization, authorization],
    ]) {
      const lines = values.map((value) => `Authorization: ${value}\r\n`).join('')
      const answer = await new Promise<string>((resolve, reject) => {
        let text = ''
        const socket = connect(port, '127.0.0.1')
        socket.on('data', (data) => (text += data.toString())).on('error', reject)
        socket.on('end', () => resolve(text))
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}\r\n`)
      })
      t.match(answer, /^HTTP\/1\.1 401 /)
    }
  }
  t.equal(calls, 0)
})

t.test('a hash is shown in no shape of a user', async (t) => {
  const hash = `$2b$10$${'a'.repeat(53)}`
  class Nested {
    name = 'a'
    password = hash
    toJSON() {
      return { user: { name: this.name, password: this.password }, list: [{ password: hash }] }
    }
  }
  class Listed {
    password = hash
    toJSON() {
      return [{ password: this.password }]
    }
  }
  class Texts {
    password = hash
    toJSON() {
      return JSON.stringify({ password: this.password })
    }
    toString() {
      return `user ${this.password}`
    }
  }
  class Circle {
    password = hash
    self = { user: this as unknown }
  }
  const users: Record<string, object> = {
    nested: new Nested(),
    listed: new Listed(),
    texts: new Texts(),
    circle: new Circle(),
    raw: { name: 'a', raw: { password: hash } },
    'another name': { name: 'a', passwordHash: hash },
    'another name in a class': new (class {
      digest = hash
    })(),
  }
  for (const [name, user] of Object.entries(users)) {
    const app = await appWith(t, { authenticator: { authenticate: () => user } }, (app) => {
      app.get('/', { config: { auth: true } }, (request) => ({
        text: (request.user as { toString(): string }).toString(),
        user: name === 'circle' ? Object.keys(request.user) : request.user,
      }))
    })
    const response = await app.inject('/')
    t.equal(response.statusCode, 200, name)
    t.notMatch(response.body, hash.slice(0, 20), name)
  }
})
