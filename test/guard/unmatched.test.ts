import type { FastifyInstance } from 'fastify'
import cors, { type FastifyCorsOptions } from '@fastify/cors'
import t from 'tap'
import { authn, type AuthMark, type Authenticator } from '../../lib/index.js'
import { appWith, bearer, standardOptions, fastify } from '../helpers/app.js'
import { bearerChallenge, isRejection, isWelcome, probe, messages } from '../helpers/flows.js'

const noToken = { error: messages.none, challenge: bearerChallenge }

/** `auth` in the options of app.register. */
const scope = (auth: AuthMark | undefined, prefix: string): object =>
  auth === undefined ? { prefix } : { auth, prefix }

t.test('requests that match no route get a 404 without authentication', async (t) => {
  const { handler } = probe()
  const asked: string[] = []
  const spy: Authenticator = {
    scheme: 'Bearer',
    authenticate: (request) => {
      asked.push(request.url)
      return null
    },
  }
  for (const custom of [false, true]) {
    const app = await appWith(t, { authenticator: spy, auth: true }, async (app) => {
      app.get('/closed', handler)
      app.get('/files/*', handler)
      const setHandler = (app: FastifyInstance): unknown =>
        app.setNotFoundHandler((request, reply) => {
          void reply.code(404).send({ custom: true, user: request.user })
        })
      if (custom) setHandler(app)
      await app.register(
        async (app) => {
          app.get('/x', handler)
          if (custom) setHandler(app)
        },
        scope(true, '/inner'),
      )
    })
    for (const [method, url] of [
      ['GET', '/nowhere'],
      ['POST', '/closed'],
      ['DELETE', '/files/a'],
      ['GET', '/inner/nowhere'],
      ['OPTIONS', '/closed'],
    ] as const) {
      const response = await app.inject({ method, url, headers: bearer('x') })
      t.equal(response.statusCode, 404, `${method} ${url}`)
      t.equal(response.headers['www-authenticate'], undefined)
      if (custom) t.strictSame(response.json(), { custom: true, user: null })
      else t.match(response.json(), { error: 'Not Found' })
    }
    t.strictSame(asked, [])
    t.equal((await app.inject('/files/a')).statusCode, 401, 'a wildcard route is a route')
    t.equal((await app.inject('/inner/x')).statusCode, 401)
    t.equal(asked.splice(0).length, 2)
  }
})

t.test('reply.callNotFound() of a protected route is reached with a token only', async (t) => {
  const app = await appWith(t, { ...standardOptions(), auth: true }, (app) => {
    app.get('/gone', (_, reply) => reply.callNotFound())
  })
  t.equal((await app.inject('/gone')).statusCode, 401)
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.equal((await app.inject({ url: '/gone', headers })).statusCode, 404)
})

const preflight = {
  origin: 'https://app.example',
  'access-control-request-method': 'GET',
  'access-control-request-headers': 'authorization',
}

for (const order of ['before', 'after'] as const) {
  for (const placed of ['at the root', 'in a group'] as const) {
    t.test(`@fastify/cors ${order} the plugin answers preflights, mark ${placed}`, async (t) => {
      const { handler, take } = probe()
      const app = fastify(t)
      const options = { ...standardOptions(), ...(placed === 'at the root' && { auth: true }) }
      const origin = { origin: ['https://app.example'] }
      if (order === 'before') await app.register(cors, origin)
      await app.register(authn, options)
      if (order === 'after') await app.register(cors, origin)
      await app.register(
        async (app) => {
          app.get('/me', handler)
          app.options('/own', handler)
          app.options('/own/*', handler)
          app.options('/marked/*', { config: { auth: true } }, handler)
        },
        scope(placed === 'at the root' ? undefined : true, '/group'),
      )
      await app.ready()

      for (const url of ['/group/me', '/anything', '/']) {
        const response = await app.inject({ method: 'OPTIONS', url, headers: preflight })
        t.equal(response.statusCode, 204, `preflight of ${url}`)
        t.equal(response.headers['access-control-allow-origin'], 'https://app.example')
        t.equal(response.headers['www-authenticate'], undefined)
      }

      for (const url of ['/group/own', '/group/own/a', '/group/marked/a']) {
        await app.inject({ method: 'OPTIONS', url, headers: preflight })
        t.equal(take(), 0, `${url}: a real route, whose handler needs a user`)
      }

      const rejected = await app.inject({ url: '/group/me', headers: { origin: preflight.origin } })
      const isReadable = order === 'before'
      isRejection(t, rejected, {
        ...noToken,
        ...(isReadable && { vary: 'Origin, Accept-Language' }),
      })
      t.equal('access-control-allow-origin' in rejected.headers, isReadable)
      t.equal(take(), 0)
      const headers = { ...bearer(app.jwtService.generateToken('alice')), origin: preflight.origin }
      const passed = await app.inject({ url: '/group/me', headers })
      isWelcome(t, passed, 'alice')
      t.equal(passed.headers['access-control-allow-origin'], 'https://app.example')
      t.equal(take(), 1)
    })
  }
}

const corsOptions: Record<string, FastifyCorsOptions> = {
  usual: {},
  'preflightContinue: true': { preflightContinue: true },
  'preflight: false': { preflight: false },
  'origin: false': { origin: false },
  'strictPreflight: false': { strictPreflight: false },
}
/** Headers of an OPTIONS request, from none to those of a preflight. */
const shapes: object[] = [
  {},
  { origin: preflight.origin },
  { 'access-control-request-method': 'GET' },
  preflight,
]

for (const [name, options] of Object.entries(corsOptions)) {
  t.test(`only the OPTIONS route of @fastify/cors is open: ${name}`, async (t) => {
    const { handler, take } = probe()
    const app = await appWith(t, { ...standardOptions(), auth: true }, async (app) => {
      app.options('/*', handler)
      await app.register(async (app) => void app.options('*', handler), { prefix: '/proxy' })
      await app.register(
        async (app) => {
          await app.register(cors, options)
          app.options('*', { constraints: { host: 'other.example' } }, handler)
        },
        { prefix: '/in' },
      )
    })
    for (const headers of shapes) {
      const ask = (url: string, host = 'localhost') =>
        app.inject({ method: 'OPTIONS', url, headers: { ...headers, host } })
      isRejection(t, await ask('/x'), noToken)
      isRejection(t, await ask('/proxy/x'), noToken)
      const other = await ask('/in/x', 'other.example')
      t.not(other.statusCode, 200, 'the hook of @fastify/cors may answer, the handler must not')
      t.equal(take(), 0, 'no handler ran')
      const own = await ask('/in/x')
      t.not(own.statusCode, 401, 'the route of @fastify/cors')
      t.equal(own.headers['www-authenticate'], undefined)
    }
    const rows = app.authn.routes().filter(({ url }) => url === '/in*')
    t.strictSame(
      rows.map(({ constraints, mode, source }) => [Object.keys(constraints).length, mode, source]),
      [
        [0, false, 'none'],
        [1, true, 'plugin'],
      ],
      'the report says the same',
    )
  })
}

t.test('a mark that a hook sets on the route of @fastify/cors protects it', async (t) => {
  const app = await appWith(t, standardOptions(), async (app) => {
    app.addHook('onRoute', (route) => {
      route.config = { ...route.config, auth: true }
    })
    await app.register(cors, { hook: 'preHandler' })
  })
  const response = await app.inject({ method: 'OPTIONS', url: '/x', headers: preflight })
  t.equal(response.statusCode, 401)
})
