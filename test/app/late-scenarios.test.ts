// program: its own
// Each layout of an app gives the same whether the package was loaded before the app was made or after it. The apps of
// the second kind are made first, so no helper that imports the package may be used here.
import autoload from '@fastify/autoload'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import type { AnyAuthnOptions } from '../../lib/index.js'

type App = FastifyInstance
type Routes = (app: App) => Promise<void>

const ok = (): string => 'ok'
const marked = { config: { auth: true } } as const
const open = { config: { auth: false } } as const
const routes =
  (...urls: string[]): Routes =>
  async (app) => {
    for (const url of urls) app.get(url, ok)
  }
const wait = () => new Promise((resolve) => void setTimeout(resolve, 5))

let register: (app: App, options?: AnyAuthnOptions) => App & PromiseLike<undefined>
/** A plugin of the app that registers the package for the scope around it. */
let shared: Routes
let kept: App | undefined

const file = (body: string, shares = false): string =>
  `module.exports = async (app, options) => { ${body} }\n${shares ? "module.exports[Symbol.for('skip-override')] = true\n" : ''}`
const registering = file('await app.register(options.authn, options.given)', true)

let forAutoload: object

type Declare = (app: App, t: Test) => unknown
const scenarios = new Map<string, [urls: string, expected: string, declare: Declare]>()
/**
 * @param urls to ask for without credentials
 * @param expected their statuses, or the code of the error with which startup fails
 */
const scenario = (name: string, urls: string, expected: string, declare: Declare): unknown =>
  scenarios.set(name, [urls, expected, declare])
/** A plugin with the route /a, which is queued after the package. */
const queued = (name: string, expected: string, ...args: unknown[]): unknown =>
  scenario(name, '/a', expected, (app) => register(app).register(...(args as [Routes])))
const badMark = 'ERR_AUTH_MARK'

queued('a queued group', '401', routes('/a'), { auth: true })
queued('a queued group without a mark', '200', routes('/a'))
scenario(
  'queued groups with prefixes',
  '/one /one/ /one/a /two /two/a',
  '401 401 401 200 200',
  (app) =>
    register(app)
      .register(routes('/', '/a'), { prefix: '/one', auth: true })
      .register(routes('/', '/a'), { prefix: '/two' }),
)
scenario('HEAD in a queued group', 'HEAD/a HEAD/b', '401 200', (app) =>
  register(app).register(routes('/a'), { auth: true }).register(routes('/b')),
)
queued('a queued group that is wrapped by fastify-plugin', badMark, fp(routes('/a')), {
  auth: true,
})
queued('a wrapped group in a queued group', badMark, async (inner: App) =>
  inner.register(fp(routes('/a')), { auth: true }),
)
queued('a wrapped group with an option auth of its own', '200', fp(routes('/a')), {
  auth: { user: 'x' },
})
queued(
  'a wrapped plugin without a mark',
  '401',
  fp(async (app: App) => void app.get('/a', marked, ok)),
)
queued('options that are a function', badMark, routes('/a'), () => ({ auth: true }))
queued('options that are a function, of a wrapped plugin', badMark, fp(routes('/a')), () => ({
  auth: true,
}))
queued('options that are a function, without a mark', '200', routes('/a'), () => ({ other: true }))
queued(
  'options that are a function, in a group with a mark',
  badMark,
  async (inner: App) => inner.register(routes('/a'), (() => ({ auth: false })) as never),
  { auth: true },
)
scenario('options of a class', '/a', '401', (app) => {
  class Options {
    get auth() {
      return true
    }
  }
  register(app).register(routes('/a'), new Options())
})
queued('an undefined mark', badMark, routes('/a'), { auth: undefined })
queued('a wrong mark', badMark, routes('/a'), { auth: 'yes' })
queued('a queued group of import()', '401', Promise.resolve({ default: routes('/a') }), {
  auth: true,
})
queued('a wrapped plugin of import()', badMark, Promise.resolve({ default: fp(routes('/a')) }), {
  auth: true,
})
scenario('a wrapped plugin of import() that comes later', '/a', badMark, (app) =>
  register(app).register(wait().then(() => ({ default: fp(routes('/a')) })) as never, {
    auth: true,
  }),
)
queued('a module with a default export', badMark, { default: fp(routes('/a')) }, { auth: true })
scenario('plugins in plugins', '/a /b /c /d', '401 200 401 200', (app) =>
  register(app).register(
    async (outer) => {
      outer.register(routes('/a'))
      outer.register(async (inner) => inner.register(routes('/b')), { auth: false })
      outer.register(async (inner) => inner.register(routes('/c'), { auth: true }))
      outer.get('/d', open, ok)
    },
    { auth: true },
  ),
)
scenario('a scope around the plugin', '/in/a /in/b', '401 200', (app) =>
  app.register(
    async (inner) => {
      register(inner).register(routes('/a'))
      inner.register(async (deep) => deep.register(routes('/b')), { auth: false })
    },
    { prefix: '/in', auth: true },
  ),
)
scenario('scopes around the plugin', '/a', '401', (app) =>
  app.register(
    async (outer) =>
      outer.register(async (inner) => {
        await inner.register(async (deep) => void register(deep).register(routes('/a')))
        inner.register(routes('/b'), { auth: false })
      }),
    { auth: true },
  ),
)
scenario('a mark around the scope of the plugin', '/a /b', badMark, (app) =>
  app.register(
    async (outer) => {
      outer.register(async (deep) => void register(deep).register(routes('/a')))
      outer.register(routes('/b'))
    },
    { auth: true },
  ),
)
scenario('a wrong mark around the plugin', '', badMark, (app) =>
  app.register(async (inner) => void register(inner), { auth: 'yes' as never }),
)
// Their mark has no effect, but it cannot be known that they came from a function.
scenario(
  'options of the scope around the plugin that are a function',
  '/a',
  'ERR_AUTH_MARK, late 401',
  (app) =>
    app.register(async (inner) => void register(inner).register(routes('/a')), (() => ({
      auth: true,
    })) as never),
)
scenario('a scope around the plugin that awaits it', '/a /b /c', '401 401 200', (app) =>
  app.register(
    async (inner) => {
      await register(inner)
      inner.get('/a', ok)
      await inner.register(routes('/b'))
      inner.get('/c', open, ok)
    },
    { auth: true },
  ),
)
scenario('a mark of the plugin, and one of the scope around it', '/a', '401', (app) =>
  app.register(async (inner) => void register(inner, { auth: true }).register(routes('/a')), {
    auth: false,
  }),
)
scenario('a wrapped plugin that registers it', '/a /b', '401 200', (app) =>
  app
    .register(fp((app: App) => shared(app)))
    .register(routes('/a'), { auth: true })
    .register(routes('/b')),
)
scenario('a wrapped plugin with a mark that registers it', '/a', badMark, (app) =>
  app
    .register(
      fp((app: App) => shared(app)),
      { auth: true },
    )
    .register(routes('/a')),
)
scenario('a plugin that is not wrapped and registers it', '/a', badMark, (app) =>
  app.register(shared).register(routes('/a'), { auth: true }),
)
scenario('the plugin by import()', '/a /b', '401 401', (app) => {
  const module = wait().then(() => import('../../lib/index.js'))
  app.register(module as never, { authenticator: { authenticate: () => null } } as never)
  app.register(routes('/a'), { auth: true })
  app.register(async (inner) => void inner.get('/b', marked, ok))
})
scenario('the plugin with options of a function', '/a', '401', (app) => {
  app.register(fp(async () => undefined))
  app.register(async (inner) => {
    register(inner, (() => ({ authenticator: { authenticate: () => null }, auth: true })) as never)
    inner.register(routes('/a'))
  })
})
scenario('two registrations', '/one/a /one/b /two/a /two/b', '401 200 401 200', (app) => {
  for (const prefix of ['/one', '/two']) {
    app.register(
      async (inner) => {
        register(inner)
        inner.register(routes('/a'), { auth: true })
        inner.register(routes('/b'))
      },
      { prefix },
    )
  }
})
scenario('two registrations, the second with a wrapped group', '/a', badMark, (app) => {
  app.register(async (inner) => void register(inner), { prefix: '/one' })
  app.register(async (inner) => void register(inner).register(fp(routes('/a')), { auth: true }))
})
scenario('two registrations, one in the other', '/a /b', '200 401', (app) =>
  register(app, { auth: true }).register(async (inner) => {
    register(inner, { auth: false }).register(routes('/a'))
    inner.register(routes('/b'), { auth: true })
  }),
)
scenario('a finished plugin that is wrapped', '/a', '401', async (app) => {
  await app.register(fp(async (app: App) => void app.decorate('own', 1)))
  register(app).register(routes('/a'), { auth: true })
})
scenario('a finished scope without routes', '/a', '401', async (app) => {
  await app.register(async () => undefined, { prefix: '/x', auth: true })
  register(app).register(routes('/a'), { auth: true })
})
scenario('the instance of a scope that has a mark, kept', '/a /b', '401 200', (app) => {
  register(app).register(async (inner) => void (kept = inner), { auth: true })
  app.after(() => kept?.get('/a', ok))
  app.after(() => kept?.get('/b', open, ok))
})
scenario('the instance of the scope around the plugin, kept', '/a', '401', (app) => {
  app.register(
    async (inner) => {
      kept = inner
      register(inner)
    },
    { auth: true },
  )
  app.after(() => kept?.get('/a', ok))
})
// What is not known fails, as it did.
scenario(
  'the instance of a scope that finished before the plugin, kept',
  '/a',
  '401, late ERR_AUTH_MARK',
  async (app) => {
    await app.register(async (inner) => void (kept = inner), { auth: true })
    register(app).after(() => kept?.get('/a', ok))
  },
)
scenario('the same with a mark on the route', '/a HEAD/a', '401 401', async (app) => {
  await app.register(async (inner) => void (kept = inner))
  register(app).after(() => kept?.get('/a', marked, ok))
})
scenario('the same with a scope in it', '/a', '200, late ERR_AUTH_MARK', async (app) => {
  await app.register(async (inner) => {
    await inner.register(async (deep) => void (kept = deep))
  })
  register(app).after(() => kept?.get('/a', ok))
})
scenario('a route before the plugin', '/x/a', '200, late ERR_AUTH_MARK', async (app) => {
  await app.register(routes('/a'), { prefix: '/x' })
  register(app)
})
scenario('a route in the same tick', '/a', '401, late ERR_AUTH_MARK', (app) =>
  register(app).get('/a', marked, ok),
)
scenario('routes of after()', '/a /b', '401 200', (app) =>
  register(app).after(() => app.get('/a', marked, ok).get('/b', ok)),
)
scenario('a hook before the plugin that marks routes', '/a /b HEAD/a', '401 200 401', (app) => {
  app.addHook('onRoute', (route) => {
    if (route.url === '/a') route.config = { ...route.config, auth: true }
  })
  register(app).register(routes('/a', '/b'))
})
scenario('a hook before the plugin that drops marks', '/a', badMark, (app) => {
  app.addHook('onRoute', (route) => void (route.config = { of: 'another plugin' } as never))
  register(app).register(async (inner) => void inner.get('/a', marked, ok))
})
scenario('a hook of an existing scope that drops marks', '/a', badMark, (app) =>
  app.register(async (inner) => {
    inner.addHook('onRoute', (route) => void (route.config = { own: true } as never))
    register(inner).register(async (deep) => void deep.get('/a', marked, ok))
  }),
)
scenario('requireMarks sees what is declared later', '/a', 'ERR_AUTH_AUDIT', (app) =>
  register(app, { requireMarks: true }).register(routes('/a')),
)
scenario('requireMarks and a group', '/a', '401', (app) =>
  register(app, { requireMarks: true }).register(routes('/a'), { auth: true }),
)
scenario('a registration that protects nothing', '/a', 'ERR_AUTH_OPTION', (app) =>
  app.register(async (inner) => void register(inner, { auth: true })).register(routes('/a')),
)
scenario('a wrapped group after an error that the app has caught', '/a', badMark, (app) => {
  register(app).register(async () => {
    throw new Error('not needed')
  })
  app.after((error) => void error).register(fp(routes('/a')), { auth: true })
})
scenario('AutoLoad of marked routes', '/a', '401', (app, t) => {
  register(app)
  app.register(autoload, {
    dir: t.testdir({ 'a.cjs': file("app.get('/a', () => 'ok')") }),
    options: { auth: true },
  })
})
scenario('AutoLoad with a mark of its own', '/a', badMark, (app, t) => {
  register(app)
  const dir = t.testdir({ 'a.cjs': file("app.get('/a', () => 'ok')") })
  app.register(autoload, { dir, auth: true } as never)
})
scenario(
  'plugins/ and routes/ of AutoLoad, in a scope',
  '/ /notes /notes/deep/x',
  '200 401 200',
  (app, t) => {
    const dir = t.testdir({
      plugins: { 'authn.cjs': registering, 'own.cjs': file('') },
      routes: {
        'root.cjs': file("app.get('/', () => 'ok')"),
        notes: {
          'index.cjs': file("app.get('/', { config: { auth: true } }, () => 'ok')"),
          deep: { 'index.cjs': file("app.get('/x', () => 'ok')") },
        },
      },
    })
    app.register(async (inner) => {
      inner.register(autoload, { dir: `${dir}/plugins`, options: forAutoload })
      inner.register(autoload, { dir: `${dir}/routes` })
    })
  },
)
scenario('AutoLoad in a file of AutoLoad', '/admin/desk', '401', (app, t) => {
  const dir = t.testdir({
    plugins: { 'authn.cjs': registering },
    outer: {
      'admin.cjs': file(
        'app.register(options.autoload, { dir: options.inner, options: { auth: true } })',
      ),
    },
    inner: { 'desk.cjs': file("app.get('/desk', () => 'ok')") },
  })
  app.register(autoload, { dir: `${dir}/plugins`, options: forAutoload })
  const options = { autoload, inner: `${dir}/inner`, prefix: '/admin' }
  app.register(autoload, { dir: `${dir}/outer`, options })
})

const apps = new Map([...scenarios.keys()].map((name) => [name, Fastify()]))
const logged: string[] = []
const stream = { write: (line: string) => void logged.push(line) }
const documented = Fastify({ logger: { level: 'warn', stream } })

const { authn } = await import('../../lib/index.js')
const given: AnyAuthnOptions = { authenticator: { scheme: 'Bearer', authenticate: () => null } }
register = (app, options = {}) =>
  app.register(authn, typeof options === 'function' ? options : { ...given, ...options })
shared = async (app) => {
  await register(app)
}
forAutoload = { authn, given }

async function outcome(app: App, t: Test, urls: string, declare: Declare): Promise<string> {
  t.teardown(() => app.close().catch(() => undefined))
  try {
    await declare(app, t)
    await app.ready()
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
  const statuses: number[] = []
  for (const url of urls.split(' ').filter(Boolean)) {
    const method = url.startsWith('HEAD') ? 'HEAD' : 'GET'
    statuses.push((await app.inject({ method, url: url.replace('HEAD', '') })).statusCode)
  }
  return statuses.join(' ')
}

for (const [name, [urls, expected, declare]] of scenarios) {
  t.test(name, async (t) => {
    const [early = '', late = early] = expected.split(', late ')
    t.equal(await outcome(Fastify(), t, urls, declare), early, 'early')
    t.equal(await outcome(apps.get(name) as App, t, urls, declare), late, 'late')
  })
}

t.test('the document of a queued @fastify/swagger shows the access', async (t) => {
  t.teardown(() => documented.close())
  register(documented).register(swagger, { openapi: {} })
  documented.register(routes('/a'), { auth: true })
  await documented.ready()
  const { paths } = documented.swagger() as { paths: Record<string, { get: object }> }
  t.ok('security' in (paths['/a']?.get ?? {}))
  t.strictSame(logged, [])
})
