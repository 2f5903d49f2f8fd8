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

/** The URLs to ask for without credentials, and the statuses or the code of the error with which startup fails. */
const table: Record<
  string,
  [declare: (app: App, t: Test) => unknown, urls: string, expected: string, late?: string]
> = {
  'a queued group': [(app) => register(app).register(routes('/a'), { auth: true }), '/a', '401'],
  'a queued group without a mark': [(app) => register(app).register(routes('/a')), '/a', '200'],
  'queued groups with prefixes': [
    (app) =>
      register(app)
        .register(routes('/', '/a'), { prefix: '/one', auth: true })
        .register(routes('/', '/a'), { prefix: '/two' }),
    '/one /one/ /one/a /two /two/a',
    '401 401 401 200 200',
  ],
  'HEAD in a queued group': [
    (app) => register(app).register(routes('/a'), { auth: true }).register(routes('/b')),
    'HEAD/a HEAD/b',
    '401 200',
  ],
  'a queued group that is wrapped by fastify-plugin': [
    (app) => register(app).register(fp(routes('/a')), { auth: true }),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'a wrapped group in a queued group': [
    (app) =>
      register(app).register(async (inner) => inner.register(fp(routes('/a')), { auth: true })),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'a wrapped group with an option auth of its own': [
    (app) => register(app).register(fp(routes('/a')), { auth: { user: 'x' } as never }),
    '/a',
    '200',
  ],
  'a wrapped plugin without a mark': [
    (app) => register(app).register(fp(async (app: App) => void app.get('/a', marked, ok))),
    '/a',
    '401',
  ],
  'options that are a function': [
    (app) => register(app).register(routes('/a'), (() => ({ auth: true })) as never),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'options that are a function, of a wrapped plugin': [
    (app) => register(app).register(fp(routes('/a')), (() => ({ auth: true })) as never),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'options that are a function, without a mark': [
    (app) => register(app).register(routes('/a'), (() => ({ other: true })) as never),
    '/a',
    '200',
  ],
  'options that are a function, in a group with a mark': [
    (app) =>
      register(app).register(
        async (inner) => inner.register(routes('/a'), (() => ({ auth: false })) as never),
        { auth: true },
      ),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'options of a class': [
    (app) => {
      class Options {
        get auth() {
          return true
        }
      }
      register(app).register(routes('/a'), new Options())
    },
    '/a',
    '401',
  ],
  'an undefined mark': [
    (app) => register(app).register(routes('/a'), { auth: undefined } as never),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'a wrong mark': [
    (app) => register(app).register(routes('/a'), { auth: 'yes' as never }),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'a queued group of import()': [
    (app) => register(app).register(Promise.resolve({ default: routes('/a') }), { auth: true }),
    '/a',
    '401',
  ],
  'a wrapped plugin of import()': [
    (app) => register(app).register(Promise.resolve({ default: fp(routes('/a')) }), { auth: true }),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'a wrapped plugin of import() that comes later': [
    (app) =>
      register(app).register(wait().then(() => ({ default: fp(routes('/a')) })) as never, {
        auth: true,
      }),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'a module with a default export': [
    (app) => register(app).register({ default: fp(routes('/a')) } as never, { auth: true }),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'plugins in plugins': [
    (app) =>
      register(app).register(
        async (outer) => {
          outer.register(routes('/a'))
          outer.register(async (inner) => inner.register(routes('/b')), { auth: false })
          outer.register(async (inner) => inner.register(routes('/c'), { auth: true }))
          outer.get('/d', open, ok)
        },
        { auth: true },
      ),
    '/a /b /c /d',
    '401 200 401 200',
  ],
  'a scope around the plugin': [
    (app) =>
      app.register(
        async (inner) => {
          register(inner).register(routes('/a'))
          inner.register(async (deep) => deep.register(routes('/b')), { auth: false })
        },
        { prefix: '/in', auth: true },
      ),
    '/in/a /in/b',
    '401 200',
  ],
  'scopes around the plugin': [
    (app) =>
      app.register(
        async (outer) =>
          outer.register(async (inner) => {
            await inner.register(async (deep) => void register(deep).register(routes('/a')))
            inner.register(routes('/b'), { auth: false })
          }),
        { auth: true },
      ),
    '/a',
    '401',
  ],
  'a mark around the scope of the plugin': [
    (app) =>
      app.register(
        async (outer) => {
          outer.register(async (deep) => void register(deep).register(routes('/a')))
          outer.register(routes('/b'))
        },
        { auth: true },
      ),
    '/a /b',
    'ERR_AUTH_MARK',
  ],
  'a wrong mark around the plugin': [
    (app) => app.register(async (inner) => void register(inner), { auth: 'yes' as never }),
    '',
    'ERR_AUTH_MARK',
  ],
  // Their mark has no effect, but it cannot be known that they came from a function.
  'options of the scope around the plugin that are a function': [
    (app) =>
      app.register(async (inner) => void register(inner).register(routes('/a')), (() => ({
        auth: true,
      })) as never),
    '/a',
    'ERR_AUTH_MARK',
    '401',
  ],
  'a scope around the plugin that awaits it': [
    (app) =>
      app.register(
        async (inner) => {
          await register(inner)
          inner.get('/a', ok)
          await inner.register(routes('/b'))
          inner.get('/c', open, ok)
        },
        { auth: true },
      ),
    '/a /b /c',
    '401 401 200',
  ],
  'a mark of the plugin, and one of the scope around it': [
    (app) =>
      app.register(async (inner) => void register(inner, { auth: true }).register(routes('/a')), {
        auth: false,
      }),
    '/a',
    '401',
  ],
  'a wrapped plugin that registers it': [
    (app) =>
      app
        .register(fp((app: App) => shared(app)))
        .register(routes('/a'), { auth: true })
        .register(routes('/b')),
    '/a /b',
    '401 200',
  ],
  'a wrapped plugin with a mark that registers it': [
    (app) =>
      app
        .register(
          fp((app: App) => shared(app)),
          { auth: true },
        )
        .register(routes('/a')),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'a plugin that is not wrapped and registers it': [
    (app) => app.register(shared).register(routes('/a'), { auth: true }),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'the plugin by import()': [
    (app) => {
      const module = wait().then(() => import('../../lib/index.js'))
      app.register(module as never, { authenticator: { authenticate: () => null } } as never)
      app.register(routes('/a'), { auth: true })
      app.register(async (inner) => void inner.get('/b', marked, ok))
    },
    '/a /b',
    '401 401',
  ],
  'the plugin with options of a function': [
    (app) => {
      app.register(fp(async () => undefined))
      app.register(async (inner) => {
        register(inner, (() => ({
          authenticator: { authenticate: () => null },
          auth: true,
        })) as never)
        inner.register(routes('/a'))
      })
    },
    '/a',
    '401',
  ],
  'two registrations': [
    (app) => {
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
    },
    '/one/a /one/b /two/a /two/b',
    '401 200 401 200',
  ],
  'two registrations, the second with a wrapped group': [
    (app) => {
      app.register(async (inner) => void register(inner), { prefix: '/one' })
      app.register(async (inner) => void register(inner).register(fp(routes('/a')), { auth: true }))
    },
    '/a',
    'ERR_AUTH_MARK',
  ],
  'two registrations, one in the other': [
    (app) =>
      register(app, { auth: true }).register(async (inner) => {
        register(inner, { auth: false }).register(routes('/a'))
        inner.register(routes('/b'), { auth: true })
      }),
    '/a /b',
    '200 401',
  ],
  'a finished plugin that is wrapped': [
    async (app) => {
      await app.register(fp(async (app: App) => void app.decorate('own', 1)))
      register(app).register(routes('/a'), { auth: true })
    },
    '/a',
    '401',
  ],
  'a finished scope without routes': [
    async (app) => {
      await app.register(async () => undefined, { prefix: '/x', auth: true })
      register(app).register(routes('/a'), { auth: true })
    },
    '/a',
    '401',
  ],
  'the instance of a scope that has a mark, kept': [
    (app) => {
      register(app).register(async (inner) => void (kept = inner), { auth: true })
      app.after(() => kept?.get('/a', ok))
      app.after(() => kept?.get('/b', open, ok))
    },
    '/a /b',
    '401 200',
  ],
  'the instance of the scope around the plugin, kept': [
    (app) => {
      app.register(
        async (inner) => {
          kept = inner
          register(inner)
        },
        { auth: true },
      )
      app.after(() => kept?.get('/a', ok))
    },
    '/a',
    '401',
  ],
  // What is not known fails, as it did.
  'the instance of a scope that finished before the plugin, kept': [
    async (app) => {
      await app.register(async (inner) => void (kept = inner), { auth: true })
      register(app).after(() => kept?.get('/a', ok))
    },
    '/a',
    '401',
    'ERR_AUTH_MARK',
  ],
  'the same with a mark on the route': [
    async (app) => {
      await app.register(async (inner) => void (kept = inner))
      register(app).after(() => kept?.get('/a', marked, ok))
    },
    '/a HEAD/a',
    '401 401',
  ],
  'the same with a scope in it': [
    async (app) => {
      await app.register(async (inner) => {
        await inner.register(async (deep) => void (kept = deep))
      })
      register(app).after(() => kept?.get('/a', ok))
    },
    '/a',
    '200',
    'ERR_AUTH_MARK',
  ],
  'a route before the plugin': [
    async (app) => {
      await app.register(routes('/a'), { prefix: '/x' })
      register(app)
    },
    '/x/a',
    '200',
    'ERR_AUTH_MARK',
  ],
  'a route in the same tick': [
    (app) => register(app).get('/a', marked, ok),
    '/a',
    '401',
    'ERR_AUTH_MARK',
  ],
  'routes of after()': [
    (app) => register(app).after(() => app.get('/a', marked, ok).get('/b', ok)),
    '/a /b',
    '401 200',
  ],
  'a hook before the plugin that marks routes': [
    (app) => {
      app.addHook('onRoute', (route) => {
        if (route.url === '/a') route.config = { ...route.config, auth: true }
      })
      register(app).register(routes('/a', '/b'))
    },
    '/a /b HEAD/a',
    '401 200 401',
  ],
  'a hook before the plugin that drops marks': [
    (app) => {
      app.addHook('onRoute', (route) => void (route.config = { of: 'another plugin' } as never))
      register(app).register(async (inner) => void inner.get('/a', marked, ok))
    },
    '/a',
    'ERR_AUTH_MARK',
  ],
  'a hook of an existing scope that drops marks': [
    (app) =>
      app.register(async (inner) => {
        inner.addHook('onRoute', (route) => void (route.config = { own: true } as never))
        register(inner).register(async (deep) => void deep.get('/a', marked, ok))
      }),
    '/a',
    'ERR_AUTH_MARK',
  ],
  'requireMarks sees what is declared later': [
    (app) => register(app, { requireMarks: true }).register(routes('/a')),
    '/a',
    'ERR_AUTH_AUDIT',
  ],
  'requireMarks and a group': [
    (app) => register(app, { requireMarks: true }).register(routes('/a'), { auth: true }),
    '/a',
    '401',
  ],
  'a registration that protects nothing': [
    (app) =>
      app.register(async (inner) => void register(inner, { auth: true })).register(routes('/a')),
    '/a',
    'ERR_AUTH_OPTION',
  ],
  'a wrapped group after an error that the app has caught': [
    (app) => {
      register(app).register(async () => {
        throw new Error('not needed')
      })
      app.after((error) => void error).register(fp(routes('/a')), { auth: true })
    },
    '/a',
    'ERR_AUTH_MARK',
  ],
  'AutoLoad of marked routes': [
    (app, t) => {
      register(app)
      app.register(autoload, {
        dir: t.testdir({ 'a.cjs': file("app.get('/a', () => 'ok')") }),
        options: { auth: true },
      })
    },
    '/a',
    '401',
  ],
  'AutoLoad with a mark of its own': [
    (app, t) => {
      register(app)
      const dir = t.testdir({ 'a.cjs': file("app.get('/a', () => 'ok')") })
      app.register(autoload, { dir, auth: true } as never)
    },
    '/a',
    'ERR_AUTH_MARK',
  ],
  'plugins/ and routes/ of AutoLoad, in a scope': [
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
    '/ /notes /notes/deep/x',
    '200 401 200',
  ],
  'AutoLoad in a file of AutoLoad': [
    (app, t) => {
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
    },
    '/admin/desk',
    '401',
  ],
}

const names = Object.keys(table)
const apps = new Map(names.map((name) => [name, Fastify()]))
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

async function outcome(app: App, t: Test, name: string): Promise<string> {
  const [declare, urls] = table[name] as (typeof table)[string]
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

for (const name of names) {
  t.test(name, async (t) => {
    const [, , expected, late = expected] = table[name] as (typeof table)[string]
    await t.test('early', async (t) => t.equal(await outcome(Fastify(), t, name), expected))
    await t.test('late', async (t) => t.equal(await outcome(apps.get(name) as App, t, name), late))
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
