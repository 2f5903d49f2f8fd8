import cors from '@fastify/cors'
import websocket from '@fastify/websocket'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions, type UndecidedRoute } from '../../lib/index.js'
import { fastify, standardOptions } from '../helpers/app.js'
import { startupError } from '../helpers/flows.js'

const standard = standardOptions()
/** Registrations with one key have one user service. */
const shared = () => ({ ...standard })

const ok = (): string => 'ok'
const open = { config: { auth: false } } as const
type RequireMarks = NonNullable<AuthnOptions['requireMarks']>
type Except = (route: UndecidedRoute) => boolean

/** Starts an app. @returns the error of its startup, if any */
async function start(
  t: Test,
  requireMarks: RequireMarks | undefined,
  declare: (app: FastifyInstance) => unknown = () => undefined,
  before: (app: FastifyInstance) => unknown = () => undefined,
): Promise<(Error & { code?: unknown }) | undefined> {
  const app = fastify(t)
  return startupError(async () => {
    await before(app)
    await app.register(authn, { ...shared(), requireMarks })
    await declare(app)
    await app.ready()
  })
}

/** The lines that name routes. */
const named = (error: Error | undefined) => (error?.message ?? 'started').split('\n').slice(1)

t.test('routes without a mark make startup fail, and all are named', async (t) => {
  const error = await start(
    t,
    true,
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
      /option "requireMarks": found 5 routes without a mark, expected one for each\. Give each config: { auth: true }, or { auth: false } if it is public; mark a scope around it; or except routes of other plugins/,
  })
  t.strictSame(named(error), [
    '  GET /b',
    '  GET /before',
    '  GET /group',
    '  GET /group/',
    '  POST,PUT /a',
  ])
})

t.test('a route with a mark of its own, a scope or the plugin passes', async (t) => {
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
  t.equal(await start(t, true, declare), undefined)
  const app = fastify(t)
  app.get('/before', ok)
  await app.register(authn, { ...shared(), requireMarks: true, auth: true })
  app.get('/plain', ok)
  await app.ready()
  for (const url of ['/before', '/plain']) t.equal((await app.inject(url)).statusCode, 401, url)
})

t.test('except gets each undecided route, and those it returns true for pass', async (t) => {
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
  t.equal(await start(t, { except }, declare), undefined)
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
  const error = await start(t, { except: ({ url }) => url === '/docs/ui' }, declare)
  t.strictSame(named(error), ['  POST,PUT /x'])
})

t.test('automatic HEAD routes pass with their GET route', async (t) => {
  t.strictSame(named(await start(t, true, (app) => app.get('/x', ok))), ['  GET /x'])
  const except: Except = ({ methods }) => methods.includes('GET')
  t.equal(await start(t, { except }, (app) => app.get('/x', ok)), undefined)
  const own = await start(t, true, (app) => {
    app.head('/x', ok)
    app.get('/x', open, ok)
  })
  t.strictSame(named(own), ['  HEAD /x'], 'a HEAD route of the app does not')
})

t.test('except must return true, and an error that it throws makes startup fail', async (t) => {
  const cause = new Error('no')
  const fails = (): never => {
    throw cause
  }
  const declare = (app: FastifyInstance): unknown => app.get('/x', ok)
  t.equal(await start(t, { except: fails }, declare), cause)
  for (const answer of [undefined, null, 1, 'true', Promise.resolve(true)]) {
    const except = (() => answer) as unknown as Except
    t.match(await start(t, { except }, declare), { code: 'ERR_AUTH_AUDIT' })
  }
})

t.test('each registration requires marks in its own scope', async (t) => {
  /** Which of the routes around, in and below a registration are named. */
  const found = async (outer?: RequireMarks, inner?: RequireMarks): Promise<string[]> => {
    const error = await start(t, outer, async (app) => {
      app.get('/outside', ok)
      await app.register(
        async (app) => {
          app.get('/early', ok)
          await app.register(authn, { ...shared(), requireMarks: inner })
          await app.register(async (app) => void app.get('/deep', ok))
        },
        { prefix: '/in' },
      )
    })
    return error === undefined ? [] : named(error)
  }
  const inside = ['  GET /in/deep', '  GET /in/early']
  const everything = [...inside, '  GET /outside']
  const lenient: RequireMarks = { except: () => true }
  t.strictSame(await found(), [])
  t.strictSame(await found(undefined, true), inside)
  t.strictSame(await found(true), everything, 'an inner registration does not lift the outer rule')
  t.strictSame(await found(true, lenient), everything, 'nor do its exceptions')
  t.strictSame(await found(lenient, true), inside)
})

t.test('the last requireMarks of a scope counts; a registration without it keeps it', async (t) => {
  const again = (requireMarks?: RequireMarks) => async (app: FastifyInstance) => {
    await app.register(authn, { ...shared(), requireMarks })
    app.get('/x', ok)
  }
  t.strictSame(named(await start(t, true, again())), ['  GET /x'])
  const lenient: RequireMarks = { except: () => true }
  t.equal(await start(t, true, again(lenient)), undefined)
})

t.test('routes of other plugins need a mark, except the one of @fastify/cors', async (t) => {
  const others = async (app: FastifyInstance): Promise<void> => {
    await app.register(cors)
    await app.register(websocket)
    app.get('/metrics', ok)
  }
  const declare = (app: FastifyInstance): void => {
    app.get('/ws', { websocket: true }, ok)
  }
  const found = ['  GET /metrics', '  GET /ws']
  t.strictSame(named(await start(t, true, declare, others)), found)
  const after = async (app: FastifyInstance): Promise<void> => {
    await others(app)
    declare(app)
  }
  t.strictSame(named(await start(t, true, after)), found)
  t.strictSame(named(await start(t, true, (app) => app.options('*', ok))), ['  OPTIONS *'])
})
