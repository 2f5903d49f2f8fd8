import cors from '@fastify/cors'
import websocket from '@fastify/websocket'
import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions, type UndecidedRoute } from '../../lib/index.js'
import { standardOptions } from '../helpers/app.js'
import { bootError } from '../helpers/flows.js'

const standard = standardOptions()
/** Registrations with one key have one user service. */
const shared = () => ({ ...standard })

const ok = (): string => 'ok'
const open = { config: { auth: false } } as const
type Audit = NonNullable<AuthnOptions['audit']>
type Except = (route: UndecidedRoute) => boolean

/** Boots an app. @returns the error that stops it, if any */
async function boot(
  t: Test,
  audit: Audit | undefined,
  declare: (app: FastifyInstance) => unknown = () => undefined,
  before: (app: FastifyInstance) => unknown = () => undefined,
): Promise<(Error & { code?: unknown }) | undefined> {
  const app = Fastify()
  t.teardown(() => app.close())
  return bootError(async () => {
    await before(app)
    await app.register(authn, { ...shared(), audit })
    await declare(app)
    await app.ready()
  })
}

/** The lines that name routes. */
const named = (error: Error | undefined): string[] =>
  (error?.message ?? 'booted').split('\n').slice(1)

t.test('routes without a mark stop the boot, and all are named', async (t) => {
  const error = await boot(
    t,
    'explicit',
    async (app) => {
      app.get('/b', ok)
      app.get('/decided', open, ok)
      app.route({ method: ['PUT', 'POST'], url: '/a', handler: ok })
      await app.register(async (app) => void app.get('/', ok), { prefix: '/group' })
    },
    (app) => app.get('/before', ok),
  )
  t.match(error, {
    name: 'AuthnUsageError',
    code: 'ERR_AUTH_AUDIT',
    message:
      /option "audit": found 5 routes without a mark, expected a decision for each\. Give each config: { auth: true }, or { auth: false } if it is public; mark a scope around it; or except routes of other plugins/,
  })
  t.strictSame(named(error), [
    '  GET /b',
    '  GET /before',
    '  GET /group',
    '  GET /group/',
    '  POST,PUT /a',
  ])
})

t.test('of many, the first ones are named and all are counted', async (t) => {
  const error = await boot(t, 'explicit', (app) => {
    for (let at = 100; at < 123; at += 1) app.get(`/${at}`, ok)
  })
  t.match(error?.message, 'found 23 routes')
  t.match(named(error), { length: 21, 0: '  GET /100', 19: '  GET /119', 20: '  and 3 more' })
})

t.test('a mark on the route, on a scope, or of the plugin is a decision', async (t) => {
  const declare = async (app: FastifyInstance): Promise<void> => {
    const needs = [{ scope: 'a' }, { role: { any: ['x', 'y'] } }] as const
    for (const auth of [true, false, 'optional', 'try', { mode: false }, ...needs] as const) {
      app.get(`/${JSON.stringify(auth)}`, { config: { auth } }, ok)
    }
    for (const auth of [true, false]) {
      await app.register(
        async (app) => {
          app.get('/x', ok)
          await app.register(async (app) => void app.get('/deep', ok))
        },
        { prefix: `/${auth}`, auth },
      )
    }
  }
  t.equal(await boot(t, 'explicit', declare), undefined)
  const app = Fastify()
  t.teardown(() => app.close())
  app.get('/before', ok)
  await app.register(authn, { ...shared(), audit: 'explicit', auth: true })
  app.get('/plain', ok)
  await app.ready()
  for (const url of ['/before', '/plain']) t.equal((await app.inject(url)).statusCode, 401, url)
})

t.test('what is excepted', async (t) => {
  const seen: UndecidedRoute[] = []
  const except: Except = (route) => {
    seen.push(route)
    return route.isHidden || route.config.isKnown === true
  }
  const declare = async (app: FastifyInstance): Promise<void> => {
    app.get('/decided', open, ok)
    await app.register(
      async (app) => {
        const schema = { hide: true } as object
        app.get('/ui', { schema, constraints: { host: 'a.example' } }, ok)
      },
      { prefix: '/docs' },
    )
    app.route({
      method: ['PUT', 'POST'],
      url: '/x',
      config: { isKnown: true } as object,
      handler: ok,
    })
  }
  t.equal(await boot(t, { mode: 'explicit', except }, declare), undefined)
  t.strictSame(JSON.parse(JSON.stringify(seen)), [
    {
      methods: ['GET'],
      url: '/docs/ui',
      constraints: { host: 'a.example' },
      isAutomaticHead: false,
      prefix: '/docs',
      isHidden: true,
      config: {},
    },
    {
      methods: ['POST', 'PUT'],
      url: '/x',
      constraints: {},
      isAutomaticHead: false,
      prefix: '',
      isHidden: false,
      config: { isKnown: true },
    },
  ])
  const error = await boot(
    t,
    { mode: 'explicit', except: ({ url }) => url === '/docs/ui' },
    declare,
  )
  t.strictSame(named(error), ['  POST,PUT /x'])
})

t.test('automatic HEAD routes follow their GET', async (t) => {
  t.strictSame(named(await boot(t, 'explicit', (app) => app.get('/x', ok))), ['  GET /x'])
  const except: Except = ({ methods }) => methods.includes('GET')
  t.equal(await boot(t, { mode: 'explicit', except }, (app) => app.get('/x', ok)), undefined)
  const own = await boot(t, 'explicit', (app) => {
    app.head('/x', ok)
    app.get('/x', open, ok)
  })
  t.strictSame(named(own), ['  HEAD /x'], 'one of the app does not')
})

t.test('what a hook decides for a GET route holds for its HEAD too', async (t) => {
  const error = await boot(t, 'explicit', (app) => {
    app.addHook('onRoute', (options) => {
      if (options.method === 'GET') options.config = { ...options.config, auth: true }
    })
    app.get('/x', ok)
    app.post('/x', ok)
  })
  t.strictSame(named(error), ['  POST /x'])
})

t.test('an except counts only if it returns true, and what it throws stops the boot', async (t) => {
  const cause = new Error('no')
  const fails = (): never => {
    throw cause
  }
  const declare = (app: FastifyInstance): unknown => app.get('/x', ok)
  t.equal(await boot(t, { mode: 'explicit', except: fails }, declare), cause)
  for (const answer of [undefined, null, 1, 'true', Promise.resolve(true)]) {
    const except = (() => answer) as unknown as Except
    t.match(await boot(t, { mode: 'explicit', except }, declare), { code: 'ERR_AUTH_AUDIT' })
  }
})

t.test('wrong options', async (t) => {
  const wrong: [unknown, string][] = [
    ['implicit', 'option "audit": found "implicit", expected \'explicit\', or an object'],
    [true, 'option "audit": found true, expected \'explicit\''],
    [null, 'option "audit": found null'],
    [{}, 'option "audit.mode": found nothing, expected \'explicit\''],
    [{ mode: 'all' }, 'option "audit.mode": found'],
    [{ mode: 'explicit', except: '/docs' }, 'option "audit.except": found an invalid string'],
    [
      { mode: 'explicit', only: [] },
      'unknown option "audit.only". Known here: mode, except, middleware.',
    ],
  ]
  for (const [audit, message] of wrong) {
    const error = await boot(t, audit as Audit)
    t.match(error, { code: 'ERR_AUTH_OPTION', message }, JSON.stringify(audit))
  }
})

t.test('each audit holds for the scope of its registration', async (t) => {
  /** Which of the routes around, in and below a registration are named. */
  const found = async (outer?: Audit, inner?: Audit): Promise<string[]> => {
    const error = await boot(t, outer, async (app) => {
      app.get('/outside', ok)
      await app.register(
        async (app) => {
          app.get('/early', ok)
          await app.register(authn, { ...shared(), audit: inner })
          await app.register(async (app) => void app.get('/deep', ok))
        },
        { prefix: '/in' },
      )
    })
    return error === undefined ? [] : named(error)
  }
  const inside = ['  GET /in/deep', '  GET /in/early']
  const everything = [...inside, '  GET /outside']
  const lenient: Audit = { mode: 'explicit', except: () => true }
  t.strictSame(await found(), [])
  t.strictSame(await found(undefined, 'explicit'), inside)
  t.strictSame(await found('explicit'), everything, 'an inner registration is no way out')
  t.strictSame(await found('explicit', lenient), everything, 'nor are its exceptions')
  t.strictSame(await found(lenient, 'explicit'), inside)
})

t.test(
  'registered twice in one scope: the last audit counts, and none takes it away',
  async (t) => {
    const again = (audit?: Audit) => async (app: FastifyInstance) => {
      await app.register(authn, { ...shared(), audit })
      app.get('/x', ok)
    }
    t.strictSame(named(await boot(t, 'explicit', again())), ['  GET /x'])
    const lenient: Audit = { mode: 'explicit', except: () => true }
    t.equal(await boot(t, 'explicit', again(lenient)), undefined)
  },
)

t.test('routes of other plugins', async (t) => {
  const others = fp(async (app: FastifyInstance) => {
    await app.register(cors)
    await app.register(websocket)
    app.get('/metrics', ok)
  })
  const declare = (app: FastifyInstance): void => {
    app.get('/ws', { websocket: true }, ok)
  }
  for (const [before, after] of [
    [others, async () => undefined],
    [async () => undefined, others],
  ] as const) {
    const all = await boot(
      t,
      'explicit',
      async (app) => {
        await app.register(after)
        declare(app)
      },
      async (app) => {
        await app.register(before)
      },
    )
    t.strictSame(named(all), ['  GET /metrics', '  GET /ws'])
  }
  const catchAll = await boot(t, 'explicit', async (app) => {
    await app.register(cors)
    app.options('*', { constraints: { host: 'a.example' } }, ok)
    app.options('/x', ok)
    await app.register(async (inner) => void inner.options('*', ok), { prefix: '/in/' })
  })
  t.strictSame(named(catchAll), ['  OPTIONS *', '  OPTIONS /in/*', '  OPTIONS /x'], 'of the app')
  t.strictSame(named(await boot(t, 'explicit', (app) => app.options('*', ok))), ['  OPTIONS *'])
  const except: Except = ({ url }) => url === '/metrics'
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(others)
  await app.register(authn, { ...shared(), audit: { mode: 'explicit', except } })
  app.get('/ws', { websocket: true, config: { auth: true } }, ok)
  await app.ready()
  const preflight = await app.inject({
    method: 'OPTIONS',
    url: '/ws',
    headers: { origin: 'https://example.org', 'access-control-request-method': 'GET' },
  })
  t.equal(preflight.statusCode, 204)
  t.equal((await app.inject('/ws')).statusCode, 401)
})
