import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { authn } from '../../lib/index.js'
import { bootError } from '../helpers/flows.js'

const ok = (): string => 'ok'
const routes = async (app: FastifyInstance): Promise<void> => void app.get('/in', ok)

/** The same without a scope of its own. */
const shared = fp(async (app: FastifyInstance) => routes(app))

const jwt = { authenticate: () => null }
const options = { authenticator: 'jwt', authenticators: { jwt } }

type Declare = (app: FastifyInstance) => unknown

/** The error that stops the boot of an app, if any; the plugin comes first or last. */
async function errorOf(
  t: Test,
  declare: Declare,
  isFirst = true,
  server: FastifyServerOptions = {},
): ReturnType<typeof bootError> {
  const app = Fastify(server)
  t.teardown(() => app.close())
  return await bootError(async () => {
    if (isFirst) await app.register(authn, options)
    await declare(app)
    if (!isFirst) await app.register(authn, options)
    await app.ready()
  })
}

/** A route with options that the compiler would not let pass. */
const get =
  (options: object): Declare =>
  (app) =>
    app.get('/x', options, ok)

const group =
  (options: object): Declare =>
  (app) =>
    app.register(routes, options)

const spellings = [
  'Auth',
  'AUTH',
  'auth ',
  'authn',
  'authed',
  'authenticate',
  'authenticated',
  'authentication',
  'authenticator',
  'isAuth',
  'isAuthenticated',
  'useAuth',
  'withAuth',
  'requireAuth',
  'requiresAuth',
  'require_auth',
  'requireAuthentication',
  'authRequired',
  'needsAuth',
  'authOnly',
]
const weakSpellings = ['protected', 'isProtected', 'secured', 'loginRequired', 'requiresLogin']
const weakSlips = ['authorize', 'jwtAuth']
const slips = ['atuh', 'auht', 'uath', 'auths', 'fastifyAuthn', 'fastify-authn', 'fastify-auth']

t.test('what a newcomer writes for config: { auth: true } on a route stops the boot', async (t) => {
  const wrong: Record<string, [options: object, found: string]> = {
    'at the level of the route': [{ auth: true }, 'auth'],
    'there, and not true': [{ auth: 'jwt' }, 'auth'],
    'there, and not set': [{ auth: undefined }, 'auth'],
    'there, beside a config': [{ auth: true, config: { other: 1 } }, 'auth'],
    'under schema': [{ schema: { auth: true } }, 'schema.auth'],
    'under the schema, beside others': [{ schema: { tags: ['a'], auth: {} } }, 'schema.auth'],
    'in a config of another case': [{ Config: { auth: true } }, 'Config.auth'],
    'in meta': [{ meta: { auth: true } }, 'meta.auth'],
    'in options': [{ options: { auth: { use: 'jwt' } } }, 'options.auth'],
    'one level too deep': [{ config: { config: { auth: true } } }, 'config.config.auth'],
    'in the config of the schema': [{ schema: { config: { auth: true } } }, 'schema.config.auth'],
    'in a list': [{ config: [{ auth: true }] }, 'config.0.auth'],
    'not set': [{ config: { auth: undefined } }, 'config.auth: undefined'],
  }
  for (const name of spellings) {
    wrong[`config.${name}`] = [{ config: { [name]: true } }, `config.${name}`]
    wrong[`${name} of another value`] = [{ config: { [name]: 'jwt' } }, `config.${name}`]
    wrong[name] = [{ [name]: true }, name]
  }
  for (const name of [...weakSpellings, ...weakSlips, ...slips]) {
    wrong[`config.${name}`] = [{ config: { [name]: true } }, `config.${name}`]
    wrong[name] = [{ [name]: true }, name]
  }
  for (const [name, [options, found]] of Object.entries(wrong)) {
    const error = await errorOf(t, get(options), Object.keys(wrong).indexOf(name) % 2 === 0)
    t.equal(error?.code, 'ERR_AUTH_MARK', name)
    const { message } = error ?? { message: '' }
    t.ok(
      message.includes(`route GET /x, config.auth: found ${found}, which has no effect`),
      message,
    )
    t.ok(message.includes("app.get('/path', { config: { auth: true } }, handler)"), 'the line')
  }
  const error = await errorOf(t, (app) => {
    app.route({ method: 'POST', url: '/y', auth: true, handler: ok } as never)
  })
  t.match(error?.message, /route POST \/y, config\.auth: found auth/)
})

t.test('a route that has a mark may have what it likes elsewhere', async (t) => {
  const elsewhere = { auth: 'theirs', Auth: true, protected: true, schema: { auth: 1 } }
  for (const auth of [true, false, 'optional', { use: 'jwt' }]) {
    const options = { ...elsewhere, config: { auth, authn: true, authenticate: 1 } }
    t.equal(await errorOf(t, get(options)), undefined, JSON.stringify(auth))
  }
  const translated = await errorOf(t, (app) => {
    app.addHook('onRoute', (route) => {
      if ('auth' in route) route.config = { ...route.config, auth: route.auth as true }
    })
    get({ auth: true })(app)
  })
  t.equal(translated, undefined, 'nor does it matter who has given it that mark')
})

t.test('what means something else does not stop the boot', async (t) => {
  const right: object[] = [
    {},
    { config: {} },
    { config: { author: 'alice', authors: [], authority: 'x', oauth: true, at: 1, path: '/' } },
    { config: { authenticated: false, requireAuth: false } },
    { config: { authorization: ['admin'], authorize: { role: 'admin' }, protected: 'csrf' } },
    { config: { private: true, public: true, jwt: { cookie: 'a' }, rateLimit: { max: 1 } } },
    { config: { mailer: { auth: { user: 'a', pass: 'b' } }, proxy: { auth: true } } },
    { meta: { auth: { user: 'a', pass: 'b' } } },
    { schema: { tags: ['auth'], security: [{ auth: [] }], description: 'auth: true' } },
    { schema: { querystring: { type: 'object', properties: { auth: { type: 'boolean' } } } } },
    { constraints: { host: 'a.example' }, logSerializers: { auth: () => 'true' } },
    { preHandler: (_: unknown, __: unknown, done: () => void) => done() },
  ]
  for (const options of right) t.equal(await errorOf(t, get(options)), undefined)
  const app = Fastify()
  t.teardown(() => app.close())
  app.get('/x', { auth: true } as object, ok)
  t.equal((await app.inject('/x')).body, 'ok', 'nor where the plugin is not registered')
})

t.test('what a newcomer writes for a group stops the boot', async (t) => {
  const wrong: Record<string, [options: object, found: string]> = {
    config: [{ prefix: '/p', config: { auth: true } }, 'config.auth'],
    'config, and a mode': [{ config: { auth: 'optional' } }, 'config.auth'],
    'not set': [{ prefix: '/p', auth: undefined }, 'auth: undefined'],
    options: [{ options: { auth: true } }, 'options.auth'],
    routeOptions: [{ routeOptions: { auth: true } }, 'routeOptions.auth'],
  }
  for (const name of [...spellings, ...slips]) wrong[name] = [{ [name]: true }, name]
  for (const [name, [options, found]] of Object.entries(wrong)) {
    for (const isFirst of [true, false]) {
      const error = await errorOf(t, group(options), isFirst)
      t.equal(error?.code, 'ERR_AUTH_MARK', name)
      const { message } = error ?? { message: '' }
      t.ok(message.includes(`found ${found}, which has no effect`), message)
      t.ok(message.includes("app.register(routes, { prefix: '/admin', auth: true })"), 'the line')
    }
  }
  const config = { config: { auth: true } }
  const others: Record<string, Declare> = {
    'without a scope of its own': (app) => app.register(shared, config),
    'options that are a function': (app) => app.register(routes, () => config),
    'a module that is loaded': (app) => app.register(Promise.resolve({ default: shared }), config),
  }
  for (const [name, declare] of Object.entries(others)) {
    const error = await errorOf(t, declare)
    t.equal(error?.code, 'ERR_AUTH_MARK', name)
    t.match(error?.message, /found config\.auth, which has no effect/)
  }
})

t.test('groups and plugins that may have these options', async (t) => {
  const right: Record<string, Declare> = {
    'a mark, and others': group({ auth: true, config: { auth: true }, authenticate: true }),
    'an open one': group({ auth: false, Auth: true }),
    'credentials of another plugin': group({ config: { auth: { user: 'a', pass: 'b' } } }),
    'an option of another plugin': group({ authenticate: { realm: 'x' }, authenticator: ok }),
    'a plugin without a scope, as @fastify/basic-auth': (app) =>
      app.register(shared, { authenticate: true, auth: undefined }),
    'settings that say false': group({ config: { auth: false } }),
    'no options': (app) => app.register(routes),
  }
  for (const [name, declare] of Object.entries(right)) {
    t.equal(await errorOf(t, declare), undefined, name)
  }
})

t.test('the option auth of the plugin that was never set', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const error = await bootError(() => app.register(authn, { ...options, auth: undefined as never }))
  t.match(error, {
    code: 'ERR_AUTH_MARK',
    message: /option "auth": found undefined, expected true/,
  })
})
