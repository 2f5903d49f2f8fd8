// Also holds lib/app/cors.ts.
// @fastify/cors is registered after the plugin in all tests here, where nothing else is said.
import cors, { type FastifyCorsOptions } from '@fastify/cors'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { afterLateCors, kLateCors } from '../../lib/guard/late-cors.js'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { bearer, standardOptions, tokensOf } from '../helpers/app.js'
import { bearerChallenge, isRefusal, isWelcome, nameOf, probe, texts } from '../helpers/flows.js'

const page = 'https://app.example'
const other = 'https://evil.example'
const noToken = { error: texts.none, challenge: bearerChallenge }
const allowed = 'access-control-allow-origin'

type Allow = (error: null, origin: string | boolean) => void

interface Setup {
  readonly options?: AuthnOptions
  readonly register: (app: FastifyInstance) => unknown
  readonly logged?: string[]
}

async function guarded(t: Test, { options, register, logged }: Setup) {
  const { handler, take } = probe()
  const stream = { write: (line: string) => void logged?.push(line) }
  const app = Fastify({ logger: { level: 'warn', stream } })
  t.teardown(() => app.close())
  await app.register(authn, { ...standardOptions(), auth: true, ...options })
  await register(app)
  app.get('/me', handler)
  app.get('/open', { config: { auth: false } }, handler)
  await app.ready()
  const ask = (origin = page, headers: Record<string, string> = {}) =>
    app.inject({ url: '/me', headers: { origin, ...headers } })
  return { app, ask, take }
}

t.test('a refusal has the headers that it would have with cors before us', async (t) => {
  const rows: [string, FastifyCorsOptions, string | undefined, string | undefined][] = [
    ['the default', {}, '*', '*'],
    ['a list', { origin: [page] }, page, undefined],
    ['an expression', { origin: /\.example$/ }, page, other],
    ['everybody, reflected', { origin: true }, page, other],
    [
      'a callback',
      { origin: (origin: unknown, allow: Allow) => allow(null, origin === page) },
      page,
      undefined,
    ],
    ['a promise', { origin: async (origin: unknown) => origin === page }, page, undefined],
    [
      'a later callback',
      { origin: (_: unknown, allow: Allow) => void setImmediate(allow, null, page) },
      page,
      page,
    ],
    ['switched off', { origin: false }, undefined, undefined],
    ['lenient', { origin: [page], strictPreflight: false }, page, undefined],
    ['no preflight', { origin: [page], preflight: false }, page, undefined],
    ['delegated', { delegator: async () => ({ origin: page }) }, page, page],
    ['preParsing', { origin: [page], hook: 'preParsing' }, page, undefined],
    ['preHandler', { origin: [page], hook: 'preHandler' }, page, undefined],
    ['preSerialization', { origin: [page], hook: 'preSerialization' }, page, undefined],
  ]
  for (const [name, options, own, foreign] of rows) {
    await t.test(name, async (t) => {
      const credentials = { ...options, credentials: true, exposedHeaders: ['WWW-Authenticate'] }
      const corsOptions = 'delegator' in options ? options : credentials
      const { ask, take } = await guarded(t, { register: (app) => app.register(cors, corsOptions) })
      for (const [origin, expected] of [
        [page, own],
        [other, foreign],
      ] as const) {
        const refused = await ask(origin)
        t.equal(refused.statusCode, 401)
        t.equal(refused.headers['www-authenticate'], bearerChallenge)
        t.equal(refused.headers[allowed], expected, origin)
        t.equal(take(), 0)
      }
      if ('delegator' in options || options.origin === false) return
      const { headers } = await ask()
      t.equal(headers['access-control-allow-credentials'], 'true')
      t.equal(headers['access-control-expose-headers'], 'WWW-Authenticate')
    })
  }
})

t.test('those who are let in get each header once, and the order of hooks stays', async (t) => {
  const seen: string[] = []
  const { app, ask, take } = await guarded(t, {
    register: async (app) => {
      app.addHook(
        'onRequest',
        async (request) => void seen.push(`first ${String(nameOf(request))}`),
      )
      const delegator = async () => {
        seen.push('cors')
        return { origin: [page] }
      }
      await app.register(cors, { delegator })
      app.addHook('onRequest', async (request) => void seen.push(`last ${String(nameOf(request))}`))
    },
  })
  const welcome = await ask(page, bearer(tokensOf(app).generateToken('alice')))
  isWelcome(t, welcome, 'alice')
  t.equal(welcome.headers[allowed], page)
  t.equal(welcome.headers.vary, 'Origin')
  t.strictSame(seen.splice(0), ['first alice', 'cors', 'last alice'])
  t.equal(take(), 1)

  isRefusal(t, await ask(), { ...noToken, vary: 'Origin, Accept-Language' })
  t.strictSame(seen, ['cors'], 'no hook of the app runs for a request that is refused')
})

t.test('the hooks of the scope of the route count, and of those around it', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const scopeOf = (origin: string) => async (scope: FastifyInstance) => {
    await scope.register(cors, { origin })
    scope.get('/', () => 'ran')
    await scope.register(async (inner) => void inner.get('/inner', () => 'ran'))
  }
  await app.register(authn, { ...standardOptions(), auth: true })
  await app.register(scopeOf(page), { prefix: '/a' })
  await app.register(scopeOf(other), { prefix: '/b' })
  await app.register(
    async (scope) => {
      await scope.register(
        fp(async (shared) => {
          await shared.register(cors)
        }),
      )
      scope.get('/', () => 'ran')
    },
    { prefix: '/wrapped' },
  )
  app.get('/none', () => 'ran')
  await app.ready()
  for (const [url, expected] of [
    ['/a', page],
    ['/a/inner', page],
    ['/b', other],
    ['/b/inner', other],
    ['/wrapped', '*'],
    ['/none', undefined],
  ] as const) {
    const refused = await app.inject({ url, headers: { origin: page } })
    t.equal(refused.statusCode, 401, url)
    t.equal(refused.headers[allowed], expected, url)
  }
})

t.test('every end that the guard makes has the headers', async (t) => {
  const ends: [string, AuthnOptions, number][] = [
    ['a fault', { authenticator: { authenticate: () => Promise.reject(new Error('down')) } }, 500],
    [
      'a response of the app',
      {
        authenticator: {
          authenticate: () => null,
          onUnauthorized: (_error, _request, reply) => reply.code(418).send('short'),
        },
      },
      418,
    ],
  ]
  for (const [name, options, status] of ends) {
    const { ask } = await guarded(t, { options, register: (app) => app.register(cors) })
    const response = await ask()
    t.equal(response.statusCode, status, name)
    t.equal(response.headers[allowed], '*', name)
  }
})

t.test('whatever cors does, the refusal goes out, and once', async (t) => {
  const failing: [string, FastifyCorsOptions][] = [
    ['an error', { origin: (_, allow) => allow(new Error('not allowed'), false) }],
    ['a rejection', { origin: () => Promise.reject(new Error('not allowed')) }],
    [
      'a throw',
      {
        origin: () => {
          throw new Error('not allowed')
        },
      },
    ],
  ]
  for (const [name, options] of failing) {
    const logged: string[] = []
    const { ask, take } = await guarded(t, {
      register: (app) => app.register(cors, options),
      logged,
    })
    const refused = await ask()
    isRefusal(t, refused, { ...noToken, vary: 'Origin, Accept-Language' })
    t.equal(refused.headers[allowed], undefined, name)
    t.equal(take(), 0)
    t.equal(logged.filter((line) => line.includes('@fastify/cors failed')).length, 1, name)
  }
  const logged: string[] = []
  const twice: FastifyCorsOptions = {
    origin: (_, allow) => {
      allow(null, page)
      allow(null, page)
    },
  }
  const { ask } = await guarded(t, { register: (app) => app.register(cors, twice), logged })
  t.equal((await ask()).headers[allowed], page)
  t.strictSame(logged, [], 'answered twice')
})

t.test('a marked OPTIONS route stays closed to what looks like a preflight', async (t) => {
  const preflight = { origin: page, 'access-control-request-method': 'GET' }
  for (const options of [{}, { preflightContinue: true }, { strictPreflight: false }]) {
    const { handler, take } = probe()
    const { app } = await guarded(t, {
      register: async (app) => {
        await app.register(cors, options)
        app.options('/own', handler)
      },
    })
    for (const headers of [preflight, { origin: page }, {}]) {
      const refused = await app.inject({ method: 'OPTIONS', url: '/own', headers })
      t.equal(refused.statusCode, 401)
      t.equal(take(), 0)
    }
  }
})

t.test('an error of what comes after cors is not taken for one of cors', async (t) => {
  const broken = new Error('of the end')
  const scope = { [kLateCors]: [(_request: unknown, _reply: unknown, next: () => void) => next()] }
  const request = { raw: { method: 'GET' }, server: scope } as unknown as FastifyRequest
  const end = (): void => {
    throw broken
  }
  t.throws(() => afterLateCors(request, {} as FastifyReply, end), broken)
})
