import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import {
  anyOf,
  authn,
  AuthenticationError,
  jwtAuthenticator,
  storedUser,
  type AccessOptions,
  type AuthMark,
  type AuthnOptions,
} from '../../lib/index.js'
import { basic, bearer, logLines, passwords, standardOptions } from '../helpers/app.js'

type Headers = Record<string, string>

/** An app with one route under a mark, and what its handler was called with. */
async function guarded(
  t: Test,
  auth: unknown,
  options: AuthnOptions = {},
  server = {},
): Promise<{ app: FastifyInstance; ran: () => number }> {
  const app = Fastify(server)
  t.teardown(() => app.close())
  await app.register(authn, { ...standardOptions(), ...options } as AuthnOptions)
  let ran = 0
  app.get('/', { config: { auth: auth as AuthMark } }, () => {
    ran += 1
    return { ok: true }
  })
  await app.ready()
  return { app, ran: () => ran }
}

const tokenOf = (app: FastifyInstance, claims: object): Headers =>
  bearer(app.jwtService.generateTokenWithClaims({ sub: 'alice', ...claims }))

const texts = {
  scope: 'Your credentials do not allow this action.',
  role: 'You are not allowed to do this.',
}

/** A user service whose alice has these fields. */
const alice = (fields: object): AuthnOptions => ({
  userService: { findByUsername: (name) => (name === 'alice' ? { name, ...fields } : null) },
})

t.test('scopes of a token: the three forms, each with what is there and what is not', async (t) => {
  const rows: [need: unknown, enough: string[], tooLittle: string[]][] = [
    [
      'notes:write',
      ['notes:write', 'a notes:write b', '  notes:write  '],
      ['', 'notes', 'notes:writ', 'notes:write2', 'Notes:write', 'notes:*', 'a\tnotes:write'],
    ],
    [{ all: ['a', 'b'] }, ['a b', 'b a c'], ['a', 'b', 'ab', 'a,b', 'a\u00a0b']],
    [{ any: ['a', 'b'] }, ['a', 'b', 'a b'], ['', 'c', 'A B']],
  ]
  for (const [scope, enough, tooLittle] of rows) {
    const { app, ran } = await guarded(t, { scope })
    for (const given of enough) {
      const response = await app.inject({ url: '/', headers: tokenOf(app, { scope: given }) })
      t.equal(response.statusCode, 200, `${JSON.stringify(scope)}: ${given}`)
    }
    t.equal(ran(), enough.length)
    for (const given of [...tooLittle, undefined, 1, ['notes:write', 'a', 'b']]) {
      const headers = tokenOf(app, given === undefined ? {} : { scope: given })
      const response = await app.inject({ url: '/', headers })
      t.equal(response.statusCode, 403, `${JSON.stringify(scope)}: ${String(given)}`)
      t.strictSame(response.json(), { error: texts.scope })
    }
    t.equal(ran(), enough.length, 'no handler ran for the others')
    t.equal((await app.inject('/')).statusCode, 401, 'nobody')
  }
})

t.test('scp counts where there is no scope', async (t) => {
  const { app } = await guarded(t, { scope: 'a' })
  const rows: [object, number][] = [
    [{ scp: 'b a' }, 200],
    [{ scp: ['a', 'b'] }, 200],
    [{ scp: ['a', 1] }, 403],
    [{ scp: ['a b'] }, 403],
    [{ scope: 'b', scp: 'a' }, 403],
    [{ scope: null, scp: 'a' }, 403],
  ]
  for (const [claims, status] of rows) {
    const { statusCode } = await app.inject({ url: '/', headers: tokenOf(app, claims) })
    t.equal(statusCode, status, JSON.stringify(claims))
  }
})

t.test('roles of the user', async (t) => {
  const rows: [object, number][] = [
    [{ roles: ['editor'] }, 200],
    [{ role: 'editor' }, 200],
    [{ roles: [], role: 'editor' }, 403],
    [{ roles: 'editor' }, 403],
    [{ role: 'Editor' }, 403],
    [{}, 403],
  ]
  for (const [fields, status] of rows) {
    const { app } = await guarded(t, { role: 'editor' }, alice(fields))
    const headers = tokenOf(app, { roles: ['editor'], role: 'editor' })
    const response = await app.inject({ url: '/', headers })
    t.equal(response.statusCode, status, JSON.stringify(fields))
    if (status === 200) continue
    t.strictSame(response.json(), { error: texts.role })
    t.equal(response.headers['www-authenticate'], undefined, 'no challenge for a role')
  }
})

t.test('the challenge of RFC 6750, and only for a token that lacks a scope', async (t) => {
  const start =
    'Bearer realm="R", error="insufficient_scope", error_description="The token lacks the required scope"'
  const use = ['jwt', 'basic']
  const rows: [mark: object, scope: string][] = [
    [{ scope: 'a' }, 'a'],
    [{ scope: { all: ['a', 'b'] } }, 'a b'],
    [{ scope: { any: ['a', 'b'] } }, 'a'],
    [{ use, scope: 'a', role: 'x' }, 'a'],
  ]
  for (const [mark, scope] of rows) {
    const { app } = await guarded(t, mark, { realm: 'R' })
    const response = await app.inject({ url: '/', headers: tokenOf(app, {}) })
    t.equal(response.statusCode, 403)
    t.equal(response.headers['www-authenticate'], `${start}, scope="${scope}"`)
    t.equal(response.headers['cache-control'], 'no-store')
    t.equal(response.headers['content-language'], 'en')
    t.match(response.headers.vary, /Accept-Language/)
  }
  const { app } = await guarded(t, { use, scope: 'a' })
  const headers = basic('alice', passwords.alice)
  const response = await app.inject({ url: '/', headers })
  t.equal(response.statusCode, 403, 'Basic without scopesOf')
  t.equal(response.headers['www-authenticate'], undefined)
  const french = { ...tokenOf(app, {}), 'accept-language': 'fr' }
  const inFrench = await app.inject({ url: '/', headers: french })
  t.match(inFrench.json(), { error: 'Vos identifiants ne permettent pas cette action.' })
})

t.test('scopesOf gets the user, whom the request has too', async (t) => {
  let asked = ''
  const nameOf = (user: unknown): string => (user as { name: string }).name
  const access: AccessOptions = {
    scopesOf: (user, request) => {
      const seen = [user, request.user, storedUser(request)]
      asked = seen.map(nameOf).join(' ')
      return null
    },
  }
  const { app } = await guarded(t, { scope: 'a' }, { access })
  const { statusCode } = await app.inject({ url: '/', headers: tokenOf(app, { scope: 'a' }) })
  t.strictSame([statusCode, asked], [403, 'alice alice alice'])
})

t.test('what is returned, and is no iterable of texts, is a fault', async (t) => {
  const broken: Record<string, () => unknown> = {
    text: () => 'a',
    number: () => 1,
    object: () => ({ a: true }),
    error: () => new AuthenticationError('auth.forbidden'),
    'a map': () => new Map([['a', 'a']]),
    'no texts': () => ['a', 1],
    'a promise of a text': async () => 'a',
    'an async iterable': async function* () {
      yield 'a'
    },
    throws: () => {
      throw new Error('secret of the app')
    },
    rejects: () => Promise.reject(new Error('secret of the app')),
    'throws while it is read': function* () {
      yield 'a'
      throw new Error('secret of the app')
    },
    'a then that throws': () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- what is tried
      get then() {
        throw new Error('secret of the app')
      },
    }),
  }
  for (const [name, answer] of Object.entries(broken)) {
    for (const [mark, access] of [
      [{ scope: 'a' }, { scopesOf: answer }],
      [{ role: 'a' }, { rolesOf: answer }],
    ] as const) {
      const { app, ran } = await guarded(t, mark, { access } as AuthnOptions)
      const response = await app.inject({ url: '/', headers: tokenOf(app, { scope: 'a' }) })
      t.equal(response.statusCode, 500, name)
      t.match(response.json(), { code: 'ERR_AUTH_ACCESS', message: /internal error/ }, name)
      t.notMatch(response.body, 'secret')
      t.equal(ran(), 0)
    }
  }
})

t.test('a refusal that is thrown there goes out as it is', async (t) => {
  for (const scopesOf of [
    () => {
      throw new AuthenticationError('Your subscription has ended.')
    },
    () => Promise.reject(new AuthenticationError('Your subscription has ended.')),
  ]) {
    const { app, ran } = await guarded(t, { scope: 'a' }, { access: { scopesOf } })
    const response = await app.inject({ url: '/', headers: tokenOf(app, {}) })
    t.equal(response.statusCode, 401)
    t.strictSame(response.json(), { error: 'Your subscription has ended.' })
    t.match(response.headers['www-authenticate'], /^Bearer/)
    t.equal(ran(), 0)
  }
})

t.test('userServiceTimeout holds for it', async (t) => {
  const access = { scopesOf: () => new Promise<never>(() => undefined) }
  const { app, ran } = await guarded(t, { scope: 'a' }, { access, userServiceTimeout: 0.05 })
  const response = await app.inject({ url: '/', headers: tokenOf(app, {}) })
  t.equal(response.statusCode, 503)
  t.equal(response.headers['retry-after'], '1')
  t.equal(ran(), 0)
})

t.test('a client that leaves meanwhile: the handler does not run', async (t) => {
  let answer: (names: string[]) => void = () => undefined
  let asked: () => void = () => undefined
  const isAsked = new Promise<void>((resolve) => (asked = resolve))
  const access = {
    scopesOf: () => {
      asked()
      return new Promise<string[]>((resolve) => (answer = resolve))
    },
  }
  const { app, ran } = await guarded(t, { scope: 'a' }, { access })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { authorization } = tokenOf(app, {}) as { authorization: string }
  const closed = new Promise<void>((resolve) => {
    app.server.once('connection', (socket) => socket.once('close', () => resolve()))
  })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`GET / HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n\r\n`)
  await isAsked
  socket.destroy()
  await closed
  answer(['a'])
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(ran(), 0)
})

t.test('the user of the one that is asked counts, and no other is asked', async (t) => {
  let asked = 0
  const first = { accepts: () => true, authenticate: () => ({ name: 'a', role: 'reader' }) }
  const second = { authenticate: () => ((asked += 1), { name: 'b', role: 'editor' }) }
  const authenticator = anyOf(first, second) as never
  const { app, ran } = await guarded(t, { role: 'editor' }, { authenticator })
  t.equal((await app.inject('/')).statusCode, 403)
  t.equal(asked, 0)
  t.equal(ran(), 0)
})

t.test('the authenticator that was asked answers a 403 too', async (t) => {
  const seen: unknown[] = []
  const answering = (name: string, authenticate: () => object) => ({
    authenticate,
    onUnauthorized(error: AuthenticationError, request: { user: unknown }, reply: never) {
      seen.push([name, error.code, error.statusCode, request.user])
      ;(reply as { code(status: number): { send(body: object): void } })
        .code(error.statusCode)
        .send({ by: name })
    },
  })
  const refusing = {
    scheme: 'Basic',
    ...answering('refusing', () => ({ name: 'b' })),
  }
  const accepting = answering('accepting', () => ({ name: 'a' }))
  const authenticator = anyOf(refusing, accepting) as never
  const { app } = await guarded(t, { role: 'editor' }, { authenticator })
  const response = await app.inject('/')
  t.equal(response.statusCode, 403)
  t.strictSame(response.json(), { by: 'accepting' })
  t.strictSame(seen, [['accepting', 'ERR_AUTH_FORBIDDEN', 403, { name: 'a' }]])
})

t.test(
  'onUnauthorized: the challenge of a 403 stays for a 403, and goes with other answers',
  async (t) => {
    for (const [status, isChallenged] of [
      [403, true],
      [401, true],
      [404, false],
      [302, false],
    ] as const) {
      const jwt = jwtAuthenticator()
      const authenticator = {
        ...jwt,
        onUnauthorized: (_: unknown, __: unknown, reply: never) =>
          (reply as { code(status: number): { send(body: string): unknown } })
            .code(status)
            .send('own'),
      }
      const { app } = await guarded(t, { scope: 'a' }, { authenticator: authenticator as never })
      const response = await app.inject({ url: '/', headers: tokenOf(app, {}) })
      t.equal(response.statusCode, status)
      t.equal('www-authenticate' in response.headers, isChallenged, String(status))
    }
  },
)

t.test('optional: nobody is a 401 where a scope or a role stands', async (t) => {
  for (const mark of [{ scope: 'a' }, { role: 'a' }]) {
    const authenticator = jwtAuthenticator({ optional: true }) as never
    const { app, ran } = await guarded(t, mark, { authenticator })
    t.equal((await app.inject('/')).statusCode, 401)
    t.equal(ran(), 0)
    t.match(
      app.authn.routes().find(({ url }) => url === '/'),
      { mode: true },
    )
  }
})

t.test('the nearest mark counts as a whole', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, { ...standardOptions(), auth: true })
  app.get('/outside', () => 'ok')
  await app.register(
    async (inner) => {
      inner.get('/inside', () => 'ok')
      inner.get('/own', { config: { auth: { role: 'x' } } }, () => 'ok')
      inner.get('/plain', { config: { auth: true } }, () => 'ok')
    },
    { auth: { scope: 'a' } },
  )
  await app.ready()
  const headers = tokenOf(app, {})
  const statusOf = async (url: string) => (await app.inject({ url, headers })).statusCode
  t.equal(await statusOf('/outside'), 200)
  t.equal(await statusOf('/inside'), 403)
  t.equal(await statusOf('/plain'), 200, 'its own mark asks for no scope')
  const own = await app.inject({ url: '/own', headers: tokenOf(app, { scope: 'a' }) })
  t.strictSame(own.json(), { error: texts.role }, 'only what its own mark asks for')
})

t.test('one event a request, with the user; the log; nothing for the throttle', async (t) => {
  const events: [string, { code?: string; user?: object; authenticator: string }][] = []
  const names = ['success', 'failure', 'throttled', 'overloaded']
  const listeners = names.map((name) => {
    const listener = (message: unknown): void => {
      events.push([name, message as never])
    }
    subscribe(`fastify-authn:${name}`, listener)
    return () => unsubscribe(`fastify-authn:${name}`, listener)
  })
  t.teardown(() => listeners.forEach((stop) => stop()))
  const { lines, stream } = logLines()
  const options = { throttle: { perUsername: 1, perAddress: 1 } }
  const mark = { use: ['basic', 'jwt'], scope: 'a' }
  const { app } = await guarded(t, mark, options, { logger: { stream } })
  const warned = lines.filter(({ level }) => level === 40)
  t.equal(warned.length, 1, 'a scope on a route that accepts Basic')
  t.match(warned, [{ msg: /GET \/.*scopesOf/ }])
  for (let round = 0; round < 4; round += 1) {
    const response = await app.inject({ url: '/', headers: basic('alice', passwords.alice) })
    t.equal(response.statusCode, 403)
  }
  t.equal(app.authn.stats().throttled, 0)
  t.strictSame(
    events.splice(0).map(([name, { code, user }]) => [name, code, user]),
    Array.from({ length: 4 }, () => [
      'failure',
      'ERR_AUTH_INSUFFICIENT_SCOPE',
      { id: 1, name: 'alice' },
    ]),
  )
  const logged = lines.filter(({ code }) => code === 'ERR_AUTH_INSUFFICIENT_SCOPE')
  t.strictSame(
    logged.map(({ level, reason }) => [level, reason]),
    Array.from({ length: 4 }, () => [30, 'needs scope a']),
    'the log says what is missing',
  )
  t.equal((await app.inject({ url: '/', headers: tokenOf(app, { scope: 'a' }) })).statusCode, 200)
  t.strictSame(
    events.map(([name]) => name),
    ['success'],
  )
})

t.test('no warning where there is a scopesOf, no Basic, or no scope', async (t) => {
  const rows: [unknown, AuthnOptions][] = [
    [{ use: ['basic'], scope: 'a' }, { access: { scopesOf: () => ['a'] } }],
    [{ use: ['jwt'], scope: 'a' }, {}],
    [{ use: ['basic'], role: 'a' }, {}],
  ]
  for (const [mark, options] of rows) {
    const { lines, stream } = logLines()
    await guarded(t, mark, options, { logger: { stream } })
    t.strictSame(
      lines.filter(({ level }) => Number(level) >= 40),
      [],
    )
  }
})

t.test('refused at boot', async (t) => {
  const rows: [config: object, message: RegExp][] = [
    [{ auth: { scope: ['a'] } }, /route GET \/, config\.auth: key "scope": found an array of 1/],
    [
      { auth: { role: { all: [] } } },
      /key "role.all": found an array of 0, expected a non-empty array/,
    ],
    [{ auth: { scope: undefined } }, /key "scope": found undefined \(is a variable not set\?\)/],
    [{ auth: { mode: 'optional', scope: 'a' } }, /mode "optional" beside scope/],
    [{ auth: { mode: false, role: 'a' } }, /mode false beside role/],
    [
      { auth: { Scope: 'a' } },
      /unknown key "Scope"\. Did you mean "scope"\? Known here: mode, use, scope, role/,
    ],
    [{ auth: { use: 'jwt', role: null } }, /key "role": found null/],
    [{ auth: { scope: { all: ['a', ''] } } }, /key "scope.all.1": found an empty string/],
    [{ auth: { scope: 'a b' } }, /key "scope": found "a b", .* section 3\.3/],
    [{ auth: { scope: { all: ['a'], any: ['b'] } } }, /key "scope": found an invalid object/],
    [{ auth: { role: { any: 'editor' } } }, /key "role.any": found an invalid string/],
    [{ auth: { role: { all: { 0: 'a', length: 1 } } } }, /key "role.all/],
    [{ auth: { scope: '\\' } }, /key "scope": found /],
    [{ auth: { scope: {} } }, /key "scope": found an invalid object, expected one name, /],
    // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tried
    [{ auth: { scope: { all: [, 'a'] } } }, /key "scope.all.0": found nothing/],
    [{ auth: { scope: { all: undefined } } }, /key "scope": found an invalid object/],
    [{ auth: ['notes:write'] }, /found an array of 1/],
  ]
  for (const [config, message] of rows) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(authn, standardOptions())
    app.get('/', { config }, () => 'ok')
    await t.rejects(
      async () => await app.ready(),
      { code: 'ERR_AUTH_MARK', message },
      JSON.stringify(config),
    )
  }
  // The same for the mark of a group, and for the one of the plugin.
  for (const [auth, message] of [
    [{ scopes: 'a' }, /unknown key "scopes"/],
    [{ scope: ['a'] }, /key "scope": found an array of 1/],
  ] as [never, RegExp][]) {
    const expected = { code: 'ERR_AUTH_MARK', message }
    const group = Fastify()
    t.teardown(() => group.close())
    await group.register(authn, standardOptions())
    group.register(async (inner) => void inner.get('/', () => 'ok'), { prefix: '/in', auth })
    await t.rejects(async () => await group.ready(), expected, message.source)
    const whole = Fastify()
    t.teardown(() => whole.close())
    const attempt = async () => await whole.register(authn, { ...standardOptions(), auth })
    await t.rejects(attempt, expected, message.source)
  }
  for (const [access, message] of [
    [{ scopeOf: () => [] }, /unknown option "access\.scopeOf"/],
    [{ scopesOf: ['a'] }, /option "access\.scopesOf": found an array/],
    [() => [], /option "access"/],
  ] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    await t.rejects(
      async () => await app.register(authn, { ...standardOptions(), access } as never),
      { code: 'ERR_AUTH_OPTION', message },
      String(message),
    )
  }
})

class Editor {
  readonly name = 'alice'
  readonly role = 'editor'
}
class LateEditor {
  readonly name = 'alice'
  get role(): string {
    return 'editor'
  }
}

t.test('users whose roles are hard to read', async (t) => {
  const thrown = new Error('secret of the app')
  const rows: [string, object, number][] = [
    ['a class', new Editor(), 200],
    ['a getter of a class', new LateEditor(), 200],
    ['no prototype', Object.assign(Object.create(null) as object, { role: 'editor' }), 200],
    ['another list', { roles: new Map([['editor', true]]) }, 403],
    ['a text object', { role: new String('editor') }, 403],
    ['a hole', { roles: Array.from(['editor', ...Array.from({ length: 1 })]) }, 403],
  ]
  for (const [title, user, status] of rows) {
    const { app } = await guarded(
      t,
      { role: 'editor' },
      { userService: { findByUsername: () => user } },
    )
    const { statusCode } = await app.inject({ url: '/', headers: tokenOf(app, {}) })
    t.equal(statusCode, status, title)
  }
  const broken = new Proxy(
    { name: 'alice', role: 'editor' },
    {
      get: (target, key) => {
        if (key === 'role') throw thrown
        return Reflect.get(target, key) as unknown
      },
    },
  )
  const authenticator = { authenticate: () => broken } as never
  const { app, ran } = await guarded(t, { role: 'editor' }, { authenticator })
  const response = await app.inject('/')
  t.equal(response.statusCode, 500)
  t.notMatch(response.body, 'secret')
  t.equal(ran(), 0)
})
