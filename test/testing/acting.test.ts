import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, LightMyRequestChain } from 'fastify'
import t, { type Test } from 'tap'
import {
  anyOf,
  AuthenticationError,
  authn,
  configBasicAuthenticator,
  EXTRA_JWT_CLAIMS,
  jwtAuthenticator,
  storedUser,
  type AuthnOptions,
  type AuthUser,
} from '../../lib/index.js'
import { userFromContext } from '../../lib/request/context.js'
import { actingAs, authnTesting } from '../../lib/testing/index.js'
import { setNodeEnv } from '../helpers/environment.js'
import { fastify, bearer, secret, standardOptions, users } from '../helpers/app.js'
import {
  bearerChallenge,
  isRejection,
  isWelcome,
  listen,
  probe,
  send,
  messages,
} from '../helpers/flows.js'
import { rejectionOf } from '../helpers/errors.js'
import { root } from '../helpers/project.js'
import { eventsOf } from '../helpers/sessions.js'

/** The tests merge no fields into AuthUser. */
const alice: AuthUser & { name: string } = { name: 'alice' }
const rejection = { error: messages.none, challenge: bearerChallenge }

/** An app with a route for each way to be marked. */
async function appWithKit(
  t: Test,
  when: 'before' | 'after' | 'never' = 'before',
  more: AuthnOptions = {},
  declare: (app: FastifyInstance) => void = () => undefined,
) {
  const app = fastify(t)
  const options = standardOptions()
  if (when === 'before') await app.register(authnTesting)
  await app.register(authn, {
    ...options,
    authenticators: {
      config: configBasicAuthenticator({ username: 'admin', password: 'open sesame' }),
      both: anyOf(jwtAuthenticator(), configBasicAuthenticator({ username: 'a', password: 'b' })),
    },
    ...more,
  })
  if (when === 'after') await app.register(authnTesting)
  const { handler, take } = probe()
  for (const [url, auth] of Object.entries(marks)) app.get(url, { config: { auth } }, handler)
  app.register(
    async (scope) => {
      scope.get('/scoped', handler)
    },
    { auth: true, prefix: '/group' },
  )
  app.get('/open', handler)
  declare(app)
  await app.ready()
  return { app, options, take }
}

const marks = {
  '/me': true,
  '/optional': 'optional',
  '/try': 'try',
  '/basic': { use: 'basic' },
  '/config': { use: 'config' },
  '/several': { use: ['jwt', 'basic'] },
  '/both': { use: 'both' },
} as const
const marked = [...Object.keys(marks), '/group/scoped']

/** inject() with options and without a URL gives a chain, which its types do not tell. */
function chain(app: FastifyInstance, options: object): LightMyRequestChain {
  return app.inject(options) as unknown as LightMyRequestChain
}

t.test('actingAs() sets the user of every protected route without a lookup', async (t) => {
  for (const when of ['before', 'after'] as const) {
    await t.test(`registered ${when} the plugin`, async (t) => {
      const { app, options, take } = await appWithKit(t, when)
      const injection = actingAs(alice)
      for (const url of marked) {
        isWelcome(t, await app.inject({ url, ...injection }), 'alice', url)
        isWelcome(t, await chain(app, actingAs({ name: 'bob' })).get(url), 'bob', `chained ${url}`)
        t.equal(take(), 2, 'the handler ran')
      }
      isWelcome(t, await app.inject({ url: '/open', ...injection }), null, 'an open route')
      const headers = bearer('wrong')
      isWelcome(t, await app.inject({ url: '/me', headers, ...injection }), 'alice', 'wins')
      t.strictSame(options.userService.asked, [], 'no user was looked up')
    })
  }
})

t.test('an authenticator of the app keeps its own rejection beside acting users', async (t) => {
  const keys = {
    authenticate() {
      throw new AuthenticationError('Wrong key.')
    },
    onUnauthorized(_: unknown, __: unknown, reply: FastifyReply) {
      reply.code(403).send('own')
    },
  }
  const { app, take } = await appWithKit(t, 'before', { authenticator: keys })
  isWelcome(t, await app.inject({ url: '/me', ...actingAs(alice) }), 'alice')
  const rejected = await app.inject('/me')
  t.strictSame([rejected.statusCode, rejected.body, take()], [403, 'own', 1])
})

t.test('handlers and events see the acting user with its claims and extra', async (t) => {
  const [stored] = users
  if (stored === undefined) throw new Error('no users')
  const seen: Record<string, unknown>[] = []
  const other = fastify(t)
  await other.register(authn, standardOptions())
  await other.register(authnTesting)
  other.get('/me', { config: { auth: true } }, (request) => {
    seen.push({
      user: request.user,
      stored: storedUser(request),
      context: userFromContext() === request.user,
      claims: request.extra[EXTRA_JWT_CLAIMS],
      tenant: request.extra.tenant,
      headers: Object.keys(request.headers).toSorted(),
    })
    return request.user
  })
  const published = eventsOf(t, 'success')
  const claims = { sub: 'alice', roles: ['admin'] }
  const acting = actingAs(stored, { claims, extra: { tenant: 7 } })
  const response = await other.inject({ url: '/me', ...acting })
  t.strictSame([response.statusCode, response.json()], [200, { id: 1, name: 'alice' }])
  await other.inject({ url: '/me', ...actingAs(stored) })
  const plain = { user: { id: 1, name: 'alice' }, stored, context: true }
  const headers = ['host', 'user-agent']
  t.strictSame(seen, [
    { ...plain, claims, tenant: 7, headers },
    { ...plain, claims: undefined, tenant: undefined, headers },
  ])
  t.match(published, [{ authenticator: 'jwt', user: { name: 'alice' } }, { authenticator: 'jwt' }])
})

t.test('a request that a handler injects is anonymous', async (t) => {
  const { app } = await appWithKit(t, 'before', {}, (app) => {
    app.get('/outer', { config: { auth: true } }, async () => (await app.inject('/me')).statusCode)
  })
  t.equal((await app.inject({ url: '/outer', ...actingAs(alice) })).body, '401')
})

t.test('an app without the kit rejects, even next to one that has it', async (t) => {
  const [withKit, without] = [await appWithKit(t), await appWithKit(t, 'never')]
  const injection = actingAs(alice)
  isWelcome(t, await withKit.app.inject({ url: '/me', ...injection }), 'alice')
  isRejection(t, await without.app.inject({ url: '/me', ...injection }), rejection)
  isWelcome(t, await without.app.inject({ url: '/optional', ...injection }), null)
  t.equal(without.take(), 1, 'only the optional route ran')
})

t.test('a copy of actingAs() options is rejected', async (t) => {
  const { app, take } = await appWithKit(t)
  const { simulate } = actingAs(alice)
  for (const other of [{ ...simulate }, Object.create(simulate) as typeof simulate]) {
    isRejection(t, await app.inject({ url: '/me', simulate: other }), rejection)
  }
  t.equal(take(), 0)
})

t.test('no request over a socket acts as a user', async (t) => {
  const { app, take } = await appWithKit(t)
  const port = await listen(app)
  const injection = actingAs(alice)
  const words = JSON.stringify(injection)
  const path = `/me?simulate=${encodeURIComponent(words)}&_lightMyRequest[simulate]=x`
  for (const _ of ['once', 'twice']) {
    isWelcome(t, await app.inject({ url: '/me', ...injection }), 'alice')
    for (const body of [words, JSON.stringify({ _lightMyRequest: injection, user: alice })]) {
      const headers = {
        simulate: words,
        _lightMyRequest: words,
        islightmyrequest: 'true',
        'user-agent': 'lightMyRequest',
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
      }
      isRejection(t, await send(port, { path, headers, body }), rejection)
    }
  }
  t.equal(take(), 2, 'only what was injected')
})

t.test('the kit makes startup fail in production, however NODE_ENV spells it', async (t) => {
  setNodeEnv(t, 'production')
  for (const name of ['production', 'Production', 'prod', 'production ', ' PROD\r']) {
    process.env.NODE_ENV = name
    const app = fastify(t)
    const { code, message } = await rejectionOf(app.register(authnTesting))
    t.equal(code, 'ERR_AUTH_TESTING', JSON.stringify(name))
    t.match(message, `NODE_ENV is ${JSON.stringify(name)}`)
  }
})

t.test('a kit that is registered in an inner scope serves the whole app', async (t) => {
  const app = fastify(t)
  await app.register(authn, { ...standardOptions(), jwt: { secret } })
  await app.register(async (scope) => {
    await scope.register(authnTesting)
  })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  t.strictSame((await app.inject({ url: '/me', ...actingAs(alice) })).json(), alice)
})

t.test('scopes and roles of actingAs() win; others come from claims and access', async (t) => {
  type Acts = Parameters<typeof actingAs>
  const asked: string[] = []
  const access: AuthnOptions['access'] = {
    scopesOf: () => (asked.push('scopesOf'), ['of access']),
    rolesOf: () => (asked.push('rolesOf'), ['of access']),
  }
  const appFor = async (more: AuthnOptions): Promise<FastifyInstance> => {
    const app = fastify(t)
    await app.register(authnTesting)
    await app.register(authn, { ...standardOptions(), ...more } as AuthnOptions)
    app.get('/scope', { config: { auth: { scope: 'a' } } }, (request) => request.user)
    app.get('/role', { config: { auth: { role: 'x y' } } }, () => 'in')
    app.get('/all', { config: { auth: { scope: { all: ['a', 'b'] }, role: 'x y' } } }, () => 'in')
    return app
  }
  const plain = await appFor({})
  const own = await appFor({ access })
  const claims = { sub: 'alice', scope: 'a b' }
  const editor = { ...alice, roles: ['x y'] }
  const rows: [FastifyInstance, Acts, string, number][] = [
    [plain, [alice], '/scope', 403],
    [plain, [alice], '/role', 403],
    [plain, [alice, { claims }], '/scope', 200],
    [plain, [alice, { claims, scopes: ['b'] }], '/scope', 403],
    [plain, [alice, { claims, scopes: [] }], '/scope', 403],
    [plain, [alice, { scopes: ['a'] }], '/scope', 200],
    [plain, [alice, { scopes: ['A', 'a:b', 'ab'] }], '/scope', 403],
    [plain, [editor], '/role', 200],
    [plain, [editor, { roles: [] }], '/role', 403],
    [plain, [alice, { roles: ['x y'] }], '/role', 200],
    [plain, [alice, { roles: ['x'] }], '/role', 403],
    [plain, [editor, { scopes: ['a', 'b'] }], '/all', 200],
    [plain, [alice, { scopes: ['a', 'b'], roles: ['x y'] }], '/all', 200],
    [plain, [alice, { scopes: ['a'], roles: ['x y'] }], '/all', 403],
    [own, [alice, { scopes: ['a', 'b'], roles: ['x y'] }], '/all', 200],
  ]
  for (const [app, acts, url, status] of rows) {
    const { statusCode } = await app.inject({ url, ...actingAs(...acts) })
    t.equal(statusCode, status, `${url} ${JSON.stringify(acts)}`)
  }
  t.strictSame(asked, [], 'the functions of the app are not asked then')
  t.equal((await own.inject({ url: '/scope', ...actingAs(alice, { claims }) })).statusCode, 403)
  t.equal((await own.inject({ url: '/role', ...actingAs(editor) })).statusCode, 403)
  t.strictSame(asked, ['scopesOf', 'rolesOf'], 'but otherwise they are')
  const rejected = await plain.inject({ url: '/scope', ...actingAs(alice, { scopes: [] }) })
  t.strictSame(rejected.json(), { error: 'Your credentials do not allow this action.' })
})

t.test('actingAs() throws for what is no user, and for bad names', async (t) => {
  for (const noUser of [null, undefined, 'alice', 7, [alice], Promise.resolve(alice)]) {
    t.throws(() => actingAs(noUser as never), { code: 'ERR_AUTH_TESTING', message: /actingAs: / })
  }
  const rows: [object, RegExp][] = [
    [{ scopes: 'a' }, /"scopes"/],
    [{ scopes: null }, /"scopes"/],
    [{ scopes: ['a b'] }, /"scopes"/],
    [{ scopes: ['a', undefined] }, /"scopes"/],
    [{ roles: [' '] }, /"roles"/],
  ]
  for (const [options, message] of rows) {
    t.throws(() => actingAs(alice, options as never), { code: 'ERR_AUTH_TESTING', message })
  }
})

t.test('package.json and both plugins name the same range of Fastify versions', async (t) => {
  const { peerDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
    peerDependencies: { fastify: string }
  }
  const rangeOf = (plugin: object): unknown =>
    (plugin as Record<symbol, { fastify?: unknown } | undefined>)[Symbol.for('plugin-meta')]
      ?.fastify
  t.strictSame([authn, authnTesting].map(rangeOf), Array(2).fill(peerDependencies.fastify))
  t.equal(peerDependencies.fastify, '^5.12.5', 'earlier versions have known holes')
})
