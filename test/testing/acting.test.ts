import { connect as connectHttp2 } from 'node:http2'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance, type LightMyRequestChain } from 'fastify'
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
import { basic, bearer, secret, standardOptions, users, tokensOf } from '../helpers/app.js'
import {
  bearerChallenge,
  isRefusal,
  isWelcome,
  listen,
  probe,
  send,
  texts,
} from '../helpers/flows.js'
import { rejectionOf, thrownBy } from '../helpers/errors.js'
import { exchange, rawRequest } from '../helpers/raw-socket.js'

/** The tests merge no fields into AuthUser. */
const alice: AuthUser & { name: string } = { name: 'alice' }
const refusal = { error: texts.none, challenge: bearerChallenge }

interface Subject {
  readonly app: FastifyInstance
  readonly options: ReturnType<typeof standardOptions>
  take(): number
}

/** An app with a route for each way to be marked. */
async function appWithKit(
  t: Test,
  when: 'before' | 'after' | 'never' = 'before',
  more: AuthnOptions = {},
  server: object = {},
): Promise<Subject> {
  const app = Fastify(server) as unknown as FastifyInstance
  t.teardown(() => app.close())
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

t.test('who acts as a user is that user on every marked route, without a look-up', async (t) => {
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

t.test('without actingAs everything is as it was', async (t) => {
  const { app, take } = await appWithKit(t)
  isRefusal(t, await app.inject('/me'), refusal)
  const token = tokensOf(app).generateToken('alice')
  isWelcome(t, await app.inject({ url: '/me', headers: bearer(token) }), 'alice', 'a token')
  isWelcome(t, await app.inject('/optional'), null, 'optional, nobody')
  isWelcome(t, await app.inject({ url: '/try', headers: bearer('x') }), null, 'try, wrong')
  t.equal(take(), 3)
  isRefusal(t, await app.inject({ url: '/optional', headers: bearer('x.y.z') }), {
    error: texts.jwtInvalid,
    challenge: `${bearerChallenge}, error="invalid_token", error_description="The token is invalid"`,
  })
  const both = await app.inject({ url: '/both', headers: basic('a', 'wrong') })
  isRefusal(t, both, {
    error: texts.invalid,
    challenge: [bearerChallenge, 'Basic realm="Authorization required", charset="UTF-8"'],
  })
  t.equal(take(), 0)
})

t.test('optional authenticators and refusals of their own stay what they are', async (t) => {
  class Keys {
    readonly optional = true
    readonly #key = 'k'
    authenticate({ headers }: { headers: Record<string, unknown> }): object | null {
      if (headers['x-key'] === undefined) return null
      if (headers['x-key'] === this.#key) return { name: 'key' }
      throw new AuthenticationError('Wrong key.')
    }
    onUnauthorized(
      _: unknown,
      __: unknown,
      reply: { code(status: number): { send(b: string): void } },
    ) {
      reply.code(403).send(`not ${this.#key}`)
    }
  }
  const { app, take } = await appWithKit(t, 'before', { authenticator: new Keys() as never })
  isWelcome(t, await app.inject('/me'), null, 'nobody')
  isWelcome(t, await app.inject({ url: '/me', headers: { 'x-key': 'k' } }), 'key')
  isWelcome(t, await app.inject({ url: '/me', ...actingAs(alice) }), 'alice')
  t.equal(take(), 3)
  const refused = await app.inject({ url: '/me', headers: { 'x-key': 'x' } })
  t.strictSame([refused.statusCode, refused.body, take()], [403, 'not k', 0])
})

t.test('handlers see what they would see in production', async (t) => {
  const [stored] = users
  if (stored === undefined) throw new Error('no users')
  const { app } = await appWithKit(t)
  const seen: Record<string, unknown>[] = []
  const other = Fastify()
  t.teardown(() => other.close())
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
  const published: object[] = []
  const listener = (message: unknown): void => void published.push(message as object)
  subscribe('fastify-authn:success', listener)
  t.teardown(() => unsubscribe('fastify-authn:success', listener))

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
  t.ok(app)
})

t.test('a request that the handler injects acts as nobody', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authnTesting)
  await app.register(authn, standardOptions())
  app.get('/outer', { config: { auth: true } }, async () => (await app.inject('/inner')).statusCode)
  app.get('/inner', { config: { auth: true } }, () => 'in')
  t.equal((await app.inject({ url: '/outer', ...actingAs(alice) })).body, '401')
})

t.test('an app without the kit refuses, also next to one that has it', async (t) => {
  const [withKit, without] = [await appWithKit(t), await appWithKit(t, 'never')]
  const injection = actingAs(alice)
  isWelcome(t, await withKit.app.inject({ url: '/me', ...injection }), 'alice')
  isRefusal(t, await without.app.inject({ url: '/me', ...injection }), refusal)
  isWelcome(t, await without.app.inject({ url: '/optional', ...injection }), null)
  t.equal(without.take(), 1, 'only the optional route ran')
})

t.test('only the very object counts', async (t) => {
  const { app, take } = await appWithKit(t)
  const { simulate } = actingAs(alice)
  t.throws(() => Object.assign(simulate, { end: false }), TypeError, 'it cannot be changed')
  const others = [
    { ...simulate },
    structuredClone(simulate),
    Object.create(simulate) as typeof simulate,
  ]
  for (const other of others)
    isRefusal(t, await app.inject({ url: '/me', simulate: other }), refusal)
  for (const key of ['simulate', '_lightMyRequest', 'isLightMyRequest']) {
    const headers = { [key]: JSON.stringify(simulate) }
    isRefusal(
      t,
      await app.inject({ url: '/me', headers, query: headers, payload: headers }),
      refusal,
    )
  }
  t.equal(take(), 0)
})

t.test('no byte on a socket acts as anybody', async (t) => {
  const { app, take } = await appWithKit(t)
  const port = await listen(app)
  const injection = actingAs(alice)
  // All of an injected request that can be written down.
  let raw: string[] = []
  const spy = Fastify()
  t.teardown(() => spy.close())
  spy.get('/me', (request) => {
    raw = request.raw.rawHeaders
    return ''
  })
  await spy.inject({ url: '/me', ...injection })
  t.ok(raw.length > 0, 'there were headers')
  const lines = Array.from(
    { length: raw.length / 2 },
    (_, at) => `${raw[2 * at]}: ${raw[2 * at + 1]}`,
  )
  const words = JSON.stringify(injection)
  const bodies = [words, JSON.stringify({ ...injection, _lightMyRequest: injection, user: alice })]
  for (const _ of ['once', 'twice']) {
    isWelcome(t, await app.inject({ url: '/me', ...injection }), 'alice')
    const request = rawRequest('/me', [
      ...lines.filter((line) => !/^host/i.test(line)),
      'Connection: close',
    ])
    const { responses } = await exchange(port, [request])
    t.equal(responses[0]?.status, 401)
    t.match(responses[0]?.head, /^www-authenticate: Bearer realm/im)
    t.equal(responses[0]?.body, JSON.stringify({ error: texts.none }))
    for (const body of bodies) {
      const headers = {
        simulate: words,
        _lightMyRequest: words,
        islightmyrequest: 'true',
        'user-agent': 'lightMyRequest',
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
      }
      const path = `/me?simulate=${encodeURIComponent(words)}&_lightMyRequest[simulate]=x`
      isRefusal(t, await send(port, { path, headers, body }), refusal)
    }
  }
  t.equal(take(), 2, 'only what was injected')
})

t.test('not even with the object on it does a request from a socket act as anybody', async (t) => {
  const { app, take } = await appWithKit(t)
  const { simulate } = actingAs(alice)
  // As if some code of the app had copied it there.
  app.server.prependListener('request', (request: object) => {
    Object.assign(request, { _lightMyRequest: { simulate }, simulate, isLightMyRequest: true })
  })
  const port = await listen(app)
  isRefusal(t, await send(port, { path: '/me' }), refusal)
  t.equal(take(), 0)
})

t.test('nor over HTTP/2', async (t) => {
  const { app, take } = await appWithKit(t, 'before', {}, { http2: true })
  const injection = actingAs(alice)
  isWelcome(t, await app.inject({ url: '/me', ...injection }), 'alice')
  const server = app.server as unknown as NodeJS.EventEmitter
  server.prependListener('request', (request: object) => {
    Object.assign(request, { _lightMyRequest: injection, isLightMyRequest: true })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const client = connectHttp2(`http://127.0.0.1:${port}`)
  t.teardown(() => client.destroy())
  for (const headers of [
    {},
    { simulate: JSON.stringify(injection), 'user-agent': 'lightMyRequest' },
  ]) {
    const stream = client.request({ ':path': '/me', ...headers })
    const [status, body] = await new Promise<[unknown, string]>((resolve, reject) => {
      let status: unknown
      let text = ''
      stream.setEncoding('utf8')
      stream.on('response', (head) => {
        status = head[':status']
      })
      stream.on('data', (chunk: string) => {
        text += chunk
      })
      stream.on('end', () => resolve([status, text]))
      stream.on('error', reject)
    })
    t.strictSame([status, body], [401, JSON.stringify({ error: texts.none })])
  }
  t.equal(take(), 1, 'only what was injected')
})

t.test('in production the kit stops the boot, however it is spelled', async (t) => {
  const { NODE_ENV } = process.env
  t.teardown(() => {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
  })
  for (const name of ['production', 'Production', 'prod', 'production ', ' PROD\r']) {
    process.env.NODE_ENV = name
    const app = Fastify()
    t.teardown(() => app.close())
    const { code, message } = await rejectionOf(app.register(authnTesting))
    t.equal(code, 'ERR_AUTH_TESTING', JSON.stringify(name))
    t.match(message, `NODE_ENV is ${JSON.stringify(name)}`)
  }
})

t.test('registered in an inner scope, it serves the whole app', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, { ...standardOptions(), jwt: { secret } })
  await app.register(async (scope) => {
    await scope.register(authnTesting)
  })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  t.strictSame((await app.inject({ url: '/me', ...actingAs(alice) })).json(), alice)
})

t.test('who is nobody cannot be acted as', async (t) => {
  for (const nobody of [
    null,
    undefined,
    'alice',
    7,
    [],
    [alice],
    new Error('no'),
    Promise.resolve(alice),
  ]) {
    const { code, message } = thrownBy(() => actingAs(nobody as never))
    t.equal(code, 'ERR_AUTH_TESTING')
    t.match(message, /^fastify-authn: actingAs: (?:found|expected)/)
  }
})

t.test('scopes and roles: those of the test win, others are as in production', async (t) => {
  type Acts = Parameters<typeof actingAs>
  const asked: string[] = []
  const access: AuthnOptions['access'] = {
    scopesOf: () => (asked.push('scopesOf'), ['of access']),
    rolesOf: () => (asked.push('rolesOf'), ['of access']),
  }
  const appFor = async (more: AuthnOptions): Promise<FastifyInstance> => {
    const app = Fastify()
    t.teardown(() => app.close())
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
    [plain, [alice, { claims, scopes: undefined }], '/scope', 200],
    [plain, [alice, { scopes: ['a'] }], '/scope', 200],
    [plain, [alice, { scopes: ['A'] }], '/scope', 403],
    [plain, [alice, { scopes: ['a:b', 'ab'] }], '/scope', 403],
    [plain, [editor], '/role', 200],
    [plain, [editor, { roles: [] }], '/role', 403],
    [plain, [alice, { roles: ['x y'] }], '/role', 200],
    [plain, [alice, { roles: ['x'] }], '/role', 403],
    [plain, [editor, { scopes: ['a', 'b'] }], '/all', 200],
    [plain, [alice, { scopes: ['a', 'b'], roles: ['x y'] }], '/all', 200],
    [plain, [alice, { scopes: ['a'], roles: ['x y'] }], '/all', 403],
    [own, [alice, { scopes: ['a'] }], '/scope', 200],
    [own, [alice, { scopes: ['a', 'b'], roles: ['x y'] }], '/all', 200],
    [own, [alice, { roles: ['x y'] }], '/role', 200],
  ]
  for (const [app, acts, url, status] of rows) {
    const { statusCode } = await app.inject({ url, ...actingAs(...acts) })
    t.equal(statusCode, status, `${url} ${JSON.stringify(acts)}`)
  }
  t.strictSame(asked, [], 'the functions of the app are not asked then')
  t.equal((await own.inject({ url: '/scope', ...actingAs(alice, { claims }) })).statusCode, 403)
  t.equal((await own.inject({ url: '/role', ...actingAs(editor) })).statusCode, 403)
  t.strictSame(asked, ['scopesOf', 'rolesOf'], 'but otherwise they are')

  const scopes = ['b']
  const injection = actingAs(alice, { scopes })
  scopes.push('a')
  t.equal((await plain.inject({ url: '/scope', ...injection })).statusCode, 403, 'copied')
  const refused = await plain.inject({ url: '/scope', ...actingAs(alice, { scopes: [] }) })
  t.strictSame(refused.json(), { error: 'Your credentials do not allow this action.' })
})

t.test('names of scopes and roles are checked', async (t) => {
  for (const [options, found] of [
    [{ scope: 'a' }, /found the unknown option "scope", expected claims, extra, scopes or roles/],
    [{ role: 'a' }, /found the unknown option "role"/],
    [null, /found the unknown option/],
    [{ scopes: 'a' }, /"scopes": found string, expected an array/],
    [{ scopes: null }, /"scopes": found null/],
    [{ scopes: ['a b'] }, /"scopes": found "a b", which cannot be the name of a scope/],
    [{ scopes: ['a', undefined] }, /"scopes": found undefined/],
    [{ scopes: ['a', 1] }, /"scopes": found 1/],
    // oxlint-disable-next-line no-sparse-arrays -- what is tried
    [{ roles: ['a', , 'b'] }, /"roles": found undefined/],
    [{ roles: [' '] }, /"roles": found " ", which cannot be the name of a role/],
    [{ roles: { all: ['a'] } }, /"roles": found object/],
  ] as const) {
    const { code, message } = thrownBy(() => actingAs(alice, options as never))
    t.equal(code, 'ERR_AUTH_TESTING')
    t.match(message, found)
  }
})
