// Also holds lib/app/scopes.ts.
import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { appWith, basic } from '../helpers/app.js'
import { rejectionOf, thrownBy } from '../helpers/errors.js'
import { basicChallenge } from '../helpers/flows.js'

const options = { basic: { username: 'a', password: 'b' } }

t.test('registered with a function, or as a module', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, () => ({ ...options, auth: true }))
  app.get('/', () => 'for users')
  t.equal((await app.inject('/')).statusCode, 401)
  t.equal((await app.inject({ url: '/', headers: basic('a', 'b') })).statusCode, 200)

  const routes = { default: fp(async () => undefined) }
  const other = Fastify()
  t.teardown(() => other.close())
  await other.register(authn, options)
  const error = thrownBy(() => other.register(routes as never, { auth: true } as object))
  t.equal(error.code, 'ERR_AUTH_MARK')

  const nothing = Fastify()
  const { code } = await rejectionOf((async () => nothing.register(undefined as never))())
  t.match(code, /^AVV_/, 'the error of Fastify itself')
})

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
