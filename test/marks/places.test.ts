// Marks in places where they would have no effect.
import fp from 'fastify-plugin'
import type { FastifyInstance, RouteShorthandOptions } from 'fastify'
import t from 'tap'
import { guard } from '../../lib/guard/guarded-request.js'
import { authn, type AuthMark } from '../../lib/index.js'
import { appWith, bearer, fastify, secret, userService } from '../helpers/app.js'
import { startupError } from '../helpers/flows.js'
import type { FastifyReply, FastifyRequest } from 'fastify'

const ok = (): string => 'ok'

const start = (add: (app: FastifyInstance) => unknown): Promise<unknown> =>
  startupError(() =>
    appWith(t, { userService: userService(), jwt: { secret } }, (app) => void add(app)),
  )

t.test('auth, role or scope in a wrong place of a route makes startup fail', async (t) => {
  const places: [string, object, RegExp][] = [
    ['auth beside config', { auth: true }, /route GET \/x.*option auth/],
    ['schema.auth', { schema: { auth: true } }, /route GET \/x.*schema\.auth/],
    ['config.auth: undefined', { config: { auth: undefined } }, /route GET \/x.*undefined/],
    ['role beside the mark', { config: { auth: true, role: 'a' } }, /role beside config\.auth/],
    ['scope beside the mark', { config: { auth: true, scope: 'read' } }, /config\.scope/],
    ['roles beside an open mark', { config: { auth: false, roles: ['a'] } }, /beside config\.auth/],
    ['role without a mark', { config: { role: 'a' } }, /role without config\.auth.*auth: { role: /],
    ['roles without a mark', { config: { roles: ['editor'] } }, /config\.roles .*auth: { role: /],
    ['scope without a mark', { config: { scope: 'read' } }, /config\.scope .*auth: { scope: /],
    ['scopes without a mark', { config: { scopes: ['read'] } }, /config\.scopes .*auth: { scope: /],
    [
      'mfa beside the mark',
      { config: { auth: true, mfa: true } },
      /config\.mfa .*auth: { mfa: true/,
    ],
    ['fresh beside it', { config: { auth: true, fresh: 600 } }, /config\.fresh .*auth: { fresh: /],
    ['fresh without a mark', { config: { fresh: 600 } }, /config\.fresh without/],
    ['mfa in config, auth beside it', { auth: true, config: { mfa: true } }, /config\.mfa/],
    ['mfa of the route itself', { config: { auth: true }, mfa: true }, /options\.mfa/],
    ['mfa of the route itself, without a mark', { mfa: true }, /options\.mfa/],
    ['permissions', { config: { permissions: ['read'] } }, /config\.permissions .*auth: { scope: /],
    ['a role that is not set', { config: { role: undefined } }, /config\.role/],
  ]
  for (const [name, options, message] of places) {
    const error = await start((app) => app.get('/x', options as RouteShorthandOptions, ok))
    t.match(error, { code: 'ERR_AUTH_MARK', message }, name)
  }
  const config = { role: 'a' } as object
  for (const auth of [true, false]) {
    const error = await start((app) => {
      app.register(async (inner) => void inner.get('/x', { config }, ok), { auth })
    })
    t.match(error, { code: 'ERR_AUTH_MARK', message: /config\.role/ }, `in a scope: ${auth}`)
  }
  const several = { method: ['HEAD', 'PUT'], url: '/x', config, handler: ok }
  t.match(await start((app) => app.route(several)), { message: /route HEAD,PUT \/x.*config\.role/ })
  const other = {
    config: { myRole: 'a', permission: 'b', Role: 'c', access: { roles: [] } } as object,
  }
  t.equal(await start((app) => app.get('/x', other, ok)), undefined, 'other names')
})

t.test('auth of a scope in options that cannot hold it makes startup fail', async (t) => {
  const plain = async (inner: FastifyInstance): Promise<void> => void inner.get('/x', ok)
  for (const [name, add] of Object.entries({
    'auth: undefined': (app: FastifyInstance) =>
      app.register(plain, { auth: undefined as unknown as boolean }),
    'a plugin without a scope of its own': (app: FastifyInstance) =>
      app.register(fp(plain), { auth: true }),
    'options from a function': (app: FastifyInstance) =>
      app.register(plain, () => ({ auth: true })),
  })) {
    t.match(await start(add), { code: 'ERR_AUTH_MARK' }, name)
  }
})

t.test('members of a mark beside the mark of a scope make startup fail', async (t) => {
  const plain = async (inner: FastifyInstance): Promise<void> => void inner.get('/x', ok)
  class Options {
    readonly auth = true
    get fresh(): number {
      return 600
    }
  }
  for (const options of [
    { prefix: '/a', auth: true, mfa: true },
    { auth: { role: 'admin' }, fresh: 600 },
    { auth: false, role: 'admin' },
    new Options(),
  ]) {
    const error = await start((app) => void app.register(plain, options as object))
    t.match(error, { code: 'ERR_AUTH_MARK', message: /found options\.\w+ beside auth/ })
  }
  const other = { mfa: true, scope: ['email'] }
  t.equal(await start((app) => void app.register(plain, other)), undefined, 'of other plugins')
})

t.test('mfa and fresh in options of a group in a marked scope make startup fail', async (t) => {
  const plain = async (inner: FastifyInstance): Promise<void> => void inner.get('/x', ok)
  class Options {
    get mfa(): boolean {
      return true
    }
  }
  const marked = (declare: (scope: FastifyInstance) => unknown) => (app: FastifyInstance) =>
    app.register(async (scope) => void declare(scope), { auth: true })
  const inner = (options: object | (() => object)) =>
    marked((scope) => scope.register(plain, options))
  const own = (options: object) => (app: FastifyInstance) => app.register(plain, options)
  for (const [name, add] of Object.entries({
    'an inner group': inner({ mfa: true }),
    'its prototype': inner(new Options()),
    'its computed options': inner(() => ({ fresh: 600 })),
    'its config': inner({ config: { fresh: 600 } }),
    'the config of the group': own({ auth: true, config: { mfa: true } }),
    'a mark in the config of an inner group': inner({ config: { auth: { mfa: true } } }),
    'a mark in the config of a group without a mark': own({ config: { auth: true } }),
    'a route': marked((scope) => scope.get('/x', { mfa: true } as object, ok)),
  })) {
    t.match(await start(add), { code: 'ERR_AUTH_MARK', message: /has no effect/ }, name)
  }
  const options = { mfa: { issuer: 'a' }, role: 'a', config: { auth: { url: 'b' }, fresh: {} } }
  t.equal(await start(inner(options)), undefined, 'options of a plugin')
  t.equal(await start(inner({ config: 'a.json' })), undefined, 'a config that is text')
  const error = await startupError(async () => {
    const app = fastify(t)
    await app.register(authn, { userService: userService(), jwt: { secret }, auth: true })
    await app.register(plain, { mfa: true } as object)
    await app.ready()
  })
  t.match(error, { code: 'ERR_AUTH_MARK' }, 'the mark of the registration')
})

t.test('auth of a scope may be a getter or an inherited member of its options', async (t) => {
  class Options {
    readonly prefix = '/in'
    get auth(): boolean {
      return true
    }
  }
  const plain = async (inner: FastifyInstance): Promise<void> => void inner.get('/x', ok)
  const app = await appWith(t, { userService: userService(), jwt: { secret } }, (app) => {
    app.register(plain, new Options())
    app.register(plain, Object.assign(Object.create({ auth: true }), { prefix: '/too' }) as object)
  })
  for (const url of ['/in/x', '/too/x']) t.equal((await app.inject(url)).statusCode, 401, url)
  t.match(await start((app) => app.register(fp(plain), new Options())), { code: 'ERR_AUTH_MARK' })
})

t.test('inherited members of a mark fail startup, changed lists are ignored', async (t) => {
  const route = (auth: object) => (app: FastifyInstance) =>
    app.get('/x', { config: { auth: auth as AuthMark } }, ok)
  for (const inherited of [{ role: 'a' }, { mode: false }]) {
    const auth = Object.assign(Object.create(inherited), { use: 'jwt' }) as object
    t.match(await start(route(auth)), { code: 'ERR_AUTH_MARK' })
  }
  const options = { auth: undefined as unknown as boolean }
  const error = await start((app) => {
    app.register(async () => void (options.auth = true), options)
  })
  t.match(error, { code: 'ERR_AUTH_MARK' }, 'what counts is the mark at loading')
  const roles = ['a']
  const hidden = Object.defineProperty({ use: 'jwt' }, 'role', { value: { all: roles } })
  const app = await appWith(t, { userService: userService(), jwt: { secret } }, route(hidden))
  roles.length = 0
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.equal((await app.inject({ url: '/x', headers })).statusCode, 403)
})

t.test('a request to an unrecorded route gets a 500', async (t) => {
  const request = { is404: false } as unknown as FastifyRequest
  const error = await new Promise((resolve) => {
    guard(request, {} as FastifyReply, resolve, {})
  })
  t.match(error, { code: 'ERR_AUTH_UNGUARDED', statusCode: 500 })
})

t.test(
  'a mark that registrations of two copies of the package read makes startup fail',
  async (t) => {
    const error = await start((app) => {
      // Another copy marks its scope in this way; test/package/both.mjs tries two of them.
      Object.assign(app, { [Symbol('fastify-authn.registration')]: {} })
      app.get('/x', { config: { auth: true } }, ok)
    })
    t.match(error, { code: 'ERR_AUTH_MARK', message: /route GET \/x.*Two copies/ })
  },
)
