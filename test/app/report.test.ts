import cors from '@fastify/cors'
import websocket from '@fastify/websocket'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { anyOf, authn, basicAuthenticator, jwtAuthenticator } from '../../lib/index.js'
import type { AuthnOptions, AuthnRoute } from '../../lib/index.js'
import { fastify, appWith, standardOptions } from '../helpers/app.js'

const standard = standardOptions()
/** Registrations with one key have one user service. */
const shared = () => ({ ...standard })

const ok = (): string => 'ok'

/** The rows of one URL that are no automatic HEAD routes. */
function rowsOf(app: FastifyInstance, url: string): AuthnRoute[] {
  return app.authn.routes().filter((row) => row.url === url && !row.isAutomaticHead)
}

/** What is said of the only route of a URL. */
function rowOf(t: Test, app: FastifyInstance, url: string): Partial<AuthnRoute> {
  const rows = rowsOf(app, url)
  t.equal(rows.length, 1, url)
  return rows[0] as AuthnRoute
}

/** What the row of a route says of its access. */
const access = (
  mode: AuthnRoute['mode'],
  authenticators: string[],
  source: AuthnRoute['source'],
  sourcePrefix: string | null = null,
): Partial<AuthnRoute> => ({ mode, authenticators, source, sourcePrefix })

t.test('routes() tells all of each route, and printRoutes() the same as a table', async (t) => {
  const app = await appWith(t, shared(), (app) => {
    app.get('/me', { config: { auth: true } }, ok)
  })
  const me = {
    url: '/me',
    constraints: {},
    mode: true,
    scope: null,
    role: null,
    mfa: false,
    fresh: null,
    authenticators: ['jwt'],
    source: 'route',
    sourcePrefix: null,
    registration: '/',
    isLogin: false,
  }
  const login = { ...me, url: '/login', mode: false, authenticators: [], isLogin: true }
  t.strictSame(app.authn.routes(), [
    { ...login, methods: ['POST'], isAutomaticHead: false },
    { ...me, methods: ['GET'], isAutomaticHead: false },
    { ...me, methods: ['HEAD'], isAutomaticHead: true },
  ])
  t.equal(
    app.authn.printRoutes(),
    [
      'METHOD  URL     ACCESS    NEEDS  AUTHENTICATORS  MARK',
      'POST    /login  open      -      -               route (login)',
      'GET     /me     required  -      jwt             route',
      '',
    ].join('\n'),
  )
  const [first] = app.authn.routes()
  ;(first as { url: string }).url = 'changed'
  t.equal(app.authn.routes()[0]?.url, '/login', 'new objects at every call')
})

t.test('a row names the mode and the authenticators of its route', async (t) => {
  const marks = {
    '/mode-false': { mode: false, use: 'jwt' },
    '/use': { use: 'configBasic' },
    '/several': { use: ['jwt', 'basic'], mode: 'try' },
    '/lax': { use: 'lax' },
    '/lax-try': { use: 'lax', mode: 'try' },
    '/half-lax': { use: ['lax', 'basic'] },
    '/default': true,
  } as const
  const options = {
    ...shared(),
    basic: { username: 'admin', password: 'open sesame' },
    authenticator: anyOf(jwtAuthenticator(), basicAuthenticator()),
    authenticators: { lax: jwtAuthenticator({ optional: true }) },
  }
  const app = await appWith(t, options, (app) => {
    for (const [url, auth] of Object.entries(marks)) app.get(url, { config: { auth } }, ok)
  })
  const expected: Record<string, Partial<AuthnRoute>> = {
    '/mode-false': access(false, [], 'route'),
    '/use': access(true, ['configBasic'], 'route'),
    '/several': access('try', ['jwt', 'basic'], 'route'),
    '/lax': access('optional', ['lax'], 'route'),
    '/lax-try': access('try', ['lax'], 'route'),
    '/half-lax': access(true, ['lax', 'basic'], 'route'),
    '/default': access(true, ['custom'], 'route'),
  }
  for (const [url, row] of Object.entries(expected)) t.match(rowOf(t, app, url), row, url)
})

t.test('a row tells whether its mark stands on the route, a scope or the plugin', async (t) => {
  const app = fastify(t)
  app.get('/before', ok)
  await app.register(async (app) => void app.get('/x', ok), { prefix: '/early', auth: 'try' })
  await app.register(authn, { ...shared(), auth: true })
  app.get('/plugin', ok)
  await app.register(
    async (app) => {
      app.get('/x', ok)
      app.get('/open', { config: { auth: false } }, ok)
      await app.register(async (app) => void app.get('/deep', ok), { prefix: '/inner' })
      await app.register(async (app) => void app.get('/other', ok), { auth: 'optional' })
    },
    { prefix: '/group', auth: false },
  )
  await app.ready()
  t.match(rowOf(t, app, '/plugin'), access(true, ['jwt'], 'plugin', ''))
  t.match(rowOf(t, app, '/early/x'), access('try', ['jwt'], 'scope', '/early'))
  t.equal(
    app.authn.printRoutes(),
    [
      'METHOD  URL                ACCESS    NEEDS  AUTHENTICATORS  MARK',
      'GET     /before            required  -      jwt             plugin',
      'GET     /early/x           try       -      jwt             scope /early',
      'GET     /group/inner/deep  open      -      -               scope /group',
      'GET     /group/open        open      -      -               route',
      'GET     /group/other       optional  -      jwt             scope /group',
      'GET     /group/x           open      -      -               scope /group',
      'POST    /login             open      -      -               route (login)',
      'GET     /plugin            required  -      jwt             plugin',
      '',
    ].join('\n'),
  )
})

/** Registrations at the root, in a scope of it, and in a scope of that. */
async function nested(t: Test): Promise<Record<string, FastifyInstance>> {
  const app = fastify(t)
  const scopes: Record<string, FastifyInstance> = { app }
  const options = (): AuthnOptions => ({ ...shared(), login: false })
  await app.register(authn, options())
  app.get('/me', { config: { auth: true } }, ok)
  await app.register(
    async (outer) => {
      scopes.outer = outer
      outer.get('/early', { config: { auth: true } }, ok)
      await outer.register(
        async (inner) => {
          scopes.inner = inner
          await inner.register(authn, { basic: { username: 'a', password: 'b' }, auth: true })
          inner.get('/me', ok)
        },
        { prefix: '/inner' },
      )
      await outer.register(authn, { ...options(), authenticator: 'basic' })
      outer.get('/me', { config: { auth: true } }, ok)
    },
    { prefix: '/outer' },
  )
  await app.register(
    async (sibling) => {
      scopes.sibling = sibling
      await sibling.register(authn, options())
      sibling.get('/me', { config: { auth: true } }, ok)
      await sibling.register(async (plain) => {
        scopes.plain = plain
        plain.get('/plain', ok)
      })
    },
    { prefix: '/sibling' },
  )
  await app.ready()
  return scopes
}

t.test('each registration lists the routes of its scope and their authenticators', async (t) => {
  const scopes = await nested(t)
  const seen = (name: string): string[] =>
    (scopes[name] as FastifyInstance).authn
      .routes()
      .filter(({ isAutomaticHead }) => !isAutomaticHead)
      .map(({ url, authenticators, registration }) =>
        `${url} ${registration} ${authenticators.join()}`.trim(),
      )
  const inner = ['/outer/inner/me /outer/inner configBasic']
  const outer = ['/outer/early /outer basic', ...inner, '/outer/me /outer basic']
  const sibling = ['/sibling/me /sibling jwt', '/sibling/plain /sibling']
  t.strictSame(seen('inner'), inner)
  t.strictSame(seen('outer'), outer, 'with routes declared before it')
  t.strictSame(seen('sibling'), sibling)
  t.strictSame(seen('plain'), sibling, 'a scope without one asks the one around it')
  t.strictSame(seen('app'), ['/me / jwt', ...outer, ...sibling])
  const [heading, first] = scopes.app?.authn.printRoutes().split('\n') ?? []
  t.strictSame([heading?.split(/ +/).at(-1), first?.split(/ +/).at(-1)], ['REGISTRATION', '/'])
})

t.test('the route / of a scope with a prefix is listed with and without its slash', async (t) => {
  const table = async (options: object, server = {}): Promise<string[]> => {
    const app = await appWith(
      t,
      shared(),
      (app) =>
        app.register(async (app) => void app.get('/', { ...options }, ok), {
          prefix: '/notes',
          auth: true,
        }),
      server,
    )
    const urls = app.authn.routes().map(({ methods, url }) => `${methods.join()} ${url}`)
    for (const [method, url] of urls.map((each) => each.split(' '))) {
      t.ok(app.hasRoute({ method: method as 'GET', url: url as string }), `${method} ${url}`)
    }
    return urls.filter((each) => !each.endsWith('/login'))
  }
  const [get, getSlash] = ['GET /notes', 'GET /notes/']
  const [head, headSlash] = ['HEAD /notes', 'HEAD /notes/']
  t.strictSame(await table({}), [get, head, getSlash, headSlash])
  t.strictSame(await table({ prefixTrailingSlash: 'slash' }), [getSlash, headSlash])
  t.strictSame(await table({ prefixTrailingSlash: 'no-slash' }), [get, head])
  t.strictSame(await table({ exposeHeadRoute: false }), [get, getSlash])
  t.strictSame(await table({}, { routerOptions: { ignoreTrailingSlash: true } }), [get, head])
})

t.test('automatic HEAD routes are told from those of the app', async (t) => {
  const app = await appWith(t, shared(), (app) => {
    app.get('/automatic', { config: { auth: true } }, ok)
    app.get('/with-hooks', { onSend: async (_, __, payload) => payload }, ok)
    app.head('/own', ok)
    app.get('/own', ok)
    app.get('/without', { exposeHeadRoute: false }, ok)
  })
  const heads = app.authn.routes().filter(({ methods }) => methods.includes('HEAD'))
  t.strictSame(
    heads.map(({ url, mode, isAutomaticHead }) => [url, mode, isAutomaticHead]),
    [
      ['/automatic', true, true],
      ['/own', false, false],
      ['/with-hooks', false, true],
    ],
  )
})

t.test('isLogin is true for the login of each registration, and for no other route', async (t) => {
  const app = fastify(t)
  await app.register(authn, { ...shared(), login: { path: '/sign-in' }, auth: true })
  app.get('/sign-in', ok)
  app.route({ method: ['POST', 'PUT'], url: '/other', handler: ok })
  app.post('/sign-in/', ok)
  await app.register(
    async (app) => {
      await app.register(authn, { ...shared(), login: { path: '/' } })
    },
    { prefix: '/inner' },
  )
  await app.register(
    async (app) => {
      await app.register(authn, { ...shared(), login: { path: '/in/' } })
      app.post('/in', ok)
    },
    { prefix: '/other' },
  )
  await app.ready()
  const logins = app.authn.routes().filter(({ isLogin }) => isLogin)
  t.strictSame(
    logins.map(({ methods, url, mode }) => [methods.join(), url, mode]),
    [
      ['POST', '/inner', false],
      ['POST', '/inner/', false],
      ['POST', '/other/in/', false],
      ['POST', '/sign-in', false],
    ],
  )
})

t.test('printRoutes() shows constraints, methods, odd URLs and foreign routes', async (t) => {
  const app = fastify(t)
  await app.register(cors)
  await app.register(websocket)
  await app.register(authn, { ...shared(), login: false })
  app.get('/ws', { websocket: true, config: { auth: true } }, ok)
  app.all('/all', ok)
  app.get('/a\n\u001b[2J\u202e\u007f\ud800é', ok)
  for (const host of ['b.example', 'a.example']) {
    const config = { auth: host === 'a.example' }
    app.route({ method: ['PUT', 'GET'], url: '/x', constraints: { host }, config, handler: ok })
  }
  await app.ready()
  t.equal(
    app.authn.printRoutes(),
    [
      'METHOD    URL                                      ACCESS    NEEDS  AUTHENTICATORS  MARK',
      'OPTIONS   *                                        open      -      -               none',
      'GET       /a\\u{a}\\u{1b}[2J\\u{202e}\\u{7f}\\u{d800}é  open      -      -               none',
      'ALL       /all                                     open      -      -               none',
      'GET       /ws                                      required  -      jwt             route',
      "GET, PUT  /x { host: 'a.example' }                 required  -      jwt             route",
      "GET, PUT  /x { host: 'b.example' }                 open      -      -               route",
      '',
    ].join('\n'),
  )
})

t.test('routes() throws before the app is ready, and works after it was closed', async (t) => {
  const app = fastify(t)
  const early: unknown[] = []
  const ask = (): void => {
    try {
      app.authn.routes()
    } catch (error) {
      early.push(error)
    }
  }
  app.addHook('onReady', async () => ask())
  await app.register(authn, shared())
  ask()
  await app.after()
  t.throws(() => app.authn.printRoutes(), { code: 'ERR_AUTH_REPORT' })
  await app.ready()
  t.match(early, [
    {
      code: 'ERR_AUTH_REPORT',
      message: /the app is not ready.* Call it after await app\.ready\(\)/,
    },
    { code: 'ERR_AUTH_REPORT' },
  ])
  ask()
  t.equal(early.length, 2, 'and then it answers')
  await app.close()
  t.equal(app.authn.routes().length, 1, 'also when it is closed')
})
