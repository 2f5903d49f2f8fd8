import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import {
  anyOf,
  AuthenticationError,
  basicAuthenticator,
  jwtAuthenticator,
  storedUser,
  type AccessOptions,
  type Authenticator,
  type AuthMark,
  type AuthnOptions,
} from '../../lib/index.js'
import {
  appWith,
  basic,
  bearer,
  logLines,
  passwords,
  standardOptions,
  users,
} from '../helpers/app.js'
import { deferred, listen, send } from '../helpers/flows.js'
import { eventsOf } from '../helpers/sessions.js'

type Headers = Record<string, string>

/** An app with one route under a mark, and how often its handler has run. */
async function guarded(t: Test, auth: unknown, options: AuthnOptions = {}, server = {}) {
  let ran = 0
  const handler = () => {
    ran += 1
    return { ok: true }
  }
  const app = await appWith(
    t,
    { ...standardOptions(), ...options },
    (app) => app.get('/', { config: { auth: auth as AuthMark } }, handler),
    server,
  )
  return { app, ran: () => ran }
}

const tokenOf = (app: FastifyInstance, claims: object): Headers =>
  bearer(app.jwtService.generateTokenWithClaims({ sub: 'alice', ...claims }))

const messages = {
  scope: 'Your credentials do not allow this action.',
  role: 'You are not allowed to do this.',
}

/** The forms of a need, with names that fulfil it and names that do not. */
const forms: [need: unknown, enough: string[][], tooLittle: string[][]][] = [
  ['a', [['a'], ['z', 'a', 'b']], [[], ['b'], ['A', 'aa', 'a:b', 'a*']]],
  [
    { all: ['a', 'b'] },
    [
      ['a', 'b'],
      ['b', 'z', 'a'],
    ],
    [[], ['a'], ['b', 'B'], ['ab']],
  ],
  [{ any: ['a', 'b'] }, [['a'], ['b'], ['a', 'b']], [[], ['z'], ['A', 'B']]],
]

t.test('a request passes with the scopes and roles that its route needs', async (t) => {
  for (const [need, enough, tooLittle] of forms) {
    for (const kind of ['scope', 'role'] as const) {
      let roles: string[] = []
      const userService = { findByUsername: (name: unknown) => ({ name, roles }) }
      const { app, ran } = await guarded(t, { [kind]: need }, { userService })
      for (const names of [...enough, ...tooLittle]) {
        roles = kind === 'role' ? names : []
        // The names of the other kind do not count.
        const scope = kind === 'scope' ? names.join(' ') : 'a b'
        const response = await app.inject({ url: '/', headers: tokenOf(app, { scope }) })
        const passes = enough.includes(names)
        const title = JSON.stringify([kind, need, names])
        t.equal(response.statusCode, passes ? 200 : 403, title)
        t.strictSame(response.json(), passes ? { ok: true } : { error: messages[kind] }, title)
      }
      t.equal(ran(), enough.length, 'the handler ran for those only')
      t.equal((await app.inject('/')).statusCode, 401, 'an anonymous request')
    }
  }
})

t.test('a route that needs a scope and a role asks for the role second', async (t) => {
  const asked: string[] = []
  const counted = (name: string, has: string) => (_: object, request: { headers: object }) => {
    asked.push(name)
    return has in request.headers ? ['a'] : []
  }
  const access = { scopesOf: counted('scope', 'x-scope'), rolesOf: counted('role', 'x-role') }
  const { app, ran } = await guarded(t, { scope: 'a', role: 'a' }, { access })
  const rows: [sent: string[], status: number, error: string | undefined, asked: string[]][] = [
    [[], 403, messages.scope, ['scope']],
    [['x-role'], 403, messages.scope, ['scope']],
    [['x-scope'], 403, messages.role, ['scope', 'role']],
    [['x-scope', 'x-role'], 200, undefined, ['scope', 'role']],
  ]
  for (const [sent, status, error, sources] of rows) {
    const own = Object.fromEntries(sent.map((name) => [name, 'yes']))
    const response = await app.inject({ url: '/', headers: { ...tokenOf(app, {}), ...own } })
    t.strictSame([response.statusCode, response.json<{ error?: string }>().error], [status, error])
    t.strictSame(asked.splice(0), sources)
  }
  t.equal(ran(), 1)
  for (const headers of [{}, bearer('x.y.z')]) {
    t.equal((await app.inject({ url: '/', headers })).statusCode, 401)
  }
  t.strictSame(asked, [], 'neither is asked about a request that is not authenticated')
})

t.test('scopes and roles come from access, whatever the authenticator and the mark', async (t) => {
  const machine = { name: 'machine', role: 'a' }
  const key: Authenticator = {
    authenticate: ({ headers }) => ('x-key' in headers ? machine : null),
  }
  const authenticators = { key, either: anyOf(jwtAuthenticator(), basicAuthenticator(), key) }
  const credentials = { username: 'root', password: 'toor' }
  const basicHeaders = basic('alice', passwords.alice)
  const uses: [use: unknown, headers: Headers | null, roleOfUser: boolean][] = [
    ['jwt', null, true],
    ['basic', basicHeaders, true],
    ['configBasic', basic('root', 'toor'), false],
    ['key', { 'x-key': 'k' }, true],
    ['either', { 'x-key': 'k' }, true],
    ['either', null, true],
    [['jwt', 'basic'], basicHeaders, true],
  ]
  const user = { id: 1, ...users[0], role: 'a' }
  const userService = { findByUsername: () => user }
  const options = { userService, basic: credentials, authenticators } as AuthnOptions
  function* generated() {
    yield 'a'
  }
  const sources: [
    access: AccessOptions | undefined,
    scope: boolean | null,
    role: boolean | null,
  ][] = [
    [undefined, null, null],
    [{ scopesOf: () => ['a'], rolesOf: async () => ['a'] }, true, true],
    [{ scopesOf: async () => new Set(['a']), rolesOf: generated }, true, true],
    [{ scopesOf: () => null, rolesOf: async () => undefined }, false, false],
  ]
  for (const [access, hasScope, hasRole] of sources) {
    for (const [use, headers, roleOfUser] of uses) {
      const own = { ...options, ...(access && { access }) }
      for (const need of [{ scope: 'a' }, { role: 'a' }]) {
        const { app } = await guarded(t, { use, mode: true, ...need }, own)
        const sent = headers ?? tokenOf(app, { scope: 'a' })
        const passes = 'scope' in need ? (hasScope ?? headers === null) : (hasRole ?? roleOfUser)
        const response = await app.inject({ url: '/', headers: sent })
        const title = JSON.stringify([use, need, hasScope])
        t.equal(response.statusCode, passes ? 200 : 403, title)
        const isChallenged = !passes && 'scope' in need && headers === null
        t.equal('www-authenticate' in response.headers, isChallenged, title)
      }
    }
  }
})

t.test('the scopes of a token are its scope, or its scp if there is none', async (t) => {
  const { app } = await guarded(t, { scope: 'notes:write' })
  const rows: [claims: object, status: number][] = [
    [{ scope: '  notes:write  x' }, 200],
    [{ scope: 'notes:write2 notes' }, 403],
    [{ scope: 'x\tnotes:write' }, 403],
    [{ scope: 'x\u00a0notes:write' }, 403],
    [{ scope: 'x,notes:write' }, 403],
    [{ scope: ['notes:write'] }, 403],
    [{ scope: 1 }, 403],
    [{ scp: 'b notes:write' }, 200],
    [{ scp: ['notes:write', 'b'] }, 200],
    [{ scp: ['notes:write', 1] }, 403],
    [{ scp: ['notes:write b'] }, 403],
    [{ scope: 'b', scp: 'notes:write' }, 403],
    [{ scope: null, scp: 'notes:write' }, 403],
  ]
  for (const [claims, status] of rows) {
    const { statusCode } = await app.inject({ url: '/', headers: tokenOf(app, claims) })
    t.equal(statusCode, status, JSON.stringify(claims))
  }
})

// Which fields of a user are its roles: users/orms.test.ts.
t.test('the roles of a request are those of its user, not of its token', async (t) => {
  const user = Object.assign(Object.create(null) as object, { role: 'editor' })
  const bare = await guarded(t, { role: 'editor' }, { userService: { findByUsername: () => user } })
  const { app, ran } = await guarded(t, { role: 'editor' })
  const headers = tokenOf(app, { roles: ['editor'], role: 'editor' })
  const prototype = Object.prototype as { role?: unknown }
  t.teardown(() => delete prototype.role)
  for (const isPolluted of [false, true]) {
    if (isPolluted) prototype.role = 'editor'
    const response = await app.inject({ url: '/', headers })
    t.strictSame([response.statusCode, response.json()], [403, { error: messages.role }])
    t.equal(response.headers['www-authenticate'], undefined, 'no challenge for a role')
  }
  delete prototype.role
  t.equal(ran(), 0, 'a polluted Object.prototype gives no role')
  t.equal((await bare.app.inject({ url: '/', headers: tokenOf(bare.app, {}) })).statusCode, 200)
})

t.test('a user whose role throws is a 500', async (t) => {
  const broken = Object.defineProperty({ name: 'alice' }, 'role', {
    get: () => {
      throw new Error('secret of the app')
    },
  })
  const authenticator = { authenticate: () => broken } as never
  const { app, ran } = await guarded(t, { role: 'editor' }, { authenticator })
  const response = await app.inject('/')
  t.equal(response.statusCode, 500)
  t.notMatch(response.body, 'secret')
  t.equal(ran(), 0)
})

t.test('a token that lacks a scope gets the challenge of RFC 6750', async (t) => {
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

t.test('scopesOf gets the user that the request has', async (t) => {
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

t.test('scopesOf and rolesOf that return no iterable of strings are a 500', async (t) => {
  const broken: Record<string, () => unknown> = {
    'a string': () => 'a',
    number: () => 1,
    object: () => ({ a: true }),
    error: () => new AuthenticationError('auth.forbidden'),
    'a map': () => new Map([['a', 'a']]),
    'no strings': () => ['a', 1],
    'a promise of a string': async () => 'a',
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

t.test('a rejection that scopesOf throws is sent as it is', async (t) => {
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

t.test('a scopesOf that takes longer than userServiceTimeout is a 503', async (t) => {
  const access = { scopesOf: () => new Promise<never>(() => undefined) }
  const { app, ran } = await guarded(t, { scope: 'a' }, { access, userServiceTimeout: 0.05 })
  const response = await app.inject({ url: '/', headers: tokenOf(app, {}) })
  t.equal(response.statusCode, 503)
  t.equal(response.headers['retry-after'], '1')
  t.equal(ran(), 0)
})

t.test('the handler does not run for a client that leaves during scopesOf', async (t) => {
  const asked = deferred()
  const closed = deferred()
  const names = deferred<string[]>()
  const scopesOf = (): Promise<string[]> => {
    asked.resolve()
    return names.promise
  }
  const { app, ran } = await guarded(t, { scope: 'a' }, { access: { scopesOf } })
  const port = await listen(app)
  app.server.once('connection', (socket) => socket.once('close', () => closed.resolve()))
  const client = new AbortController()
  const sent = send(port, { path: '/', headers: tokenOf(app, {}), signal: client.signal })
  await asked.promise
  client.abort()
  await t.rejects(sent)
  await closed.promise
  names.resolve(['a'])
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(ran(), 0)
})

t.test('the role of the user of another member of anyOf() does not count', async (t) => {
  let asked = 0
  const first = { accepts: () => true, authenticate: () => ({ name: 'a', role: 'reader' }) }
  const second = { authenticate: () => ((asked += 1), { name: 'b', role: 'editor' }) }
  const authenticator = anyOf(first, second) as never
  const { app, ran } = await guarded(t, { role: 'editor' }, { authenticator })
  t.equal((await app.inject('/')).statusCode, 403)
  t.equal(asked, 0)
  t.equal(ran(), 0)
})

t.test('onUnauthorized of the member that was asked writes a 403 too', async (t) => {
  const seen: unknown[] = []
  const member = (name: string, more: Partial<Authenticator> = {}): Authenticator => ({
    ...more,
    authenticate: () => ({ name }),
    onUnauthorized: ({ code, statusCode }, { user }, reply) => {
      seen.push([code, statusCode, user])
      return reply.code(statusCode).send({ by: name })
    },
  })
  const authenticator = anyOf(member('other', { scheme: 'Basic' }), member('asked'))
  const { app } = await guarded(t, { role: 'editor' }, { authenticator })
  const response = await app.inject('/')
  t.strictSame([response.statusCode, response.json()], [403, { by: 'asked' }])
  t.strictSame(seen, [['ERR_AUTH_FORBIDDEN', 403, { name: 'asked' }]])
})

t.test('the challenge for a scope stays where onUnauthorized sends a 401 or 403', async (t) => {
  for (const [status, isChallenged] of [
    [403, true],
    [401, true],
    [404, false],
    [302, false],
  ] as const) {
    const authenticator: Authenticator = {
      ...jwtAuthenticator(),
      onUnauthorized: (_, __, reply) => reply.code(status).send('own'),
    }
    const { app } = await guarded(t, { scope: 'a' }, { authenticator })
    const response = await app.inject({ url: '/', headers: tokenOf(app, {}) })
    t.equal(response.statusCode, status)
    t.equal('www-authenticate' in response.headers, isChallenged, String(status))
  }
})

t.test('an anonymous request to an optional route with a scope or role gets a 401', async (t) => {
  for (const mark of [{ scope: 'a' }, { role: 'a' }]) {
    const authenticator = jwtAuthenticator({ optional: true }) as never
    const { app, ran } = await guarded(t, mark, { authenticator })
    t.equal((await app.inject('/')).statusCode, 401)
    t.equal(ran(), 0)
    const found = app.authn.routes().find(({ url }) => url === '/')
    t.match(found, { mode: true })
  }
})

t.test('a route needs only the scopes and roles of the nearest mark', async (t) => {
  const ok = (): string => 'ok'
  const app = await appWith(t, { ...standardOptions(), auth: true }, async (app) => {
    app.get('/outside', ok)
    const auth = { scope: 'a' }
    await app.register(
      async (inner) => {
        inner.get('/inside', ok)
        inner.get('/own', { config: { auth: { role: 'x' } } }, ok)
        inner.get('/plain', { config: { auth: true } }, ok)
      },
      { auth },
    )
  })
  const headers = tokenOf(app, {})
  for (const [url, status] of Object.entries({ outside: 200, inside: 403, plain: 200 })) {
    t.equal((await app.inject({ url: `/${url}`, headers })).statusCode, status, url)
  }
  const own = await app.inject({ url: '/own', headers: tokenOf(app, { scope: 'a' }) })
  t.strictSame([own.statusCode, own.json()], [403, { error: messages.role }])
})

t.test('a 403 is one event and one line in the log, and is not throttled', async (t) => {
  const [failures, successes] = [eventsOf(t, 'failure'), eventsOf(t, 'success')]
  const others = [eventsOf(t, 'throttled'), eventsOf(t, 'overloaded')]
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
  t.match(failures, [{ code: 'ERR_AUTH_INSUFFICIENT_SCOPE', user: { id: 1, name: 'alice' } }])
  t.strictSame([failures.length, successes], [4, []])
  const logged = lines.filter(({ code }) => code === 'ERR_AUTH_INSUFFICIENT_SCOPE')
  t.strictSame(
    logged.map(({ level, reason }) => [level, reason]),
    Array.from({ length: 4 }, () => [30, 'needs scope a']),
    'the log says what is missing',
  )
  t.equal((await app.inject({ url: '/', headers: tokenOf(app, { scope: 'a' }) })).statusCode, 200)
  t.strictSame([successes.length, failures.length, ...others], [1, 4, [], []])
})

t.test('startup does not warn where scopesOf is set, or Basic or a scope is not', async (t) => {
  const rows: [unknown, AuthnOptions][] = [
    [{ use: ['basic'], scope: 'a' }, { access: { scopesOf: () => ['a'] } }],
    [{ use: ['jwt'], scope: 'a' }, {}],
    [{ use: ['basic'], role: 'a' }, {}],
  ]
  for (const [mark, options] of rows) {
    const { lines, stream } = logLines()
    await guarded(t, mark, options, { logger: { stream } })
    const found = lines.filter(({ level }) => Number(level) >= 40)
    t.strictSame(found, [])
  }
})

t.test('startup fails for a mark or an option access of a wrong form', async (t) => {
  const rows: [config: object, message: RegExp][] = [
    [{ auth: { scopes: 'a' } }, /unknown key "scopes"/],
    [{ auth: { scope: ['a'] } }, /route GET \/, config\.auth: key "scope": found an array of 1/],
    [{ auth: { role: { all: [] } } }, /"role.all": found an array of 0, expected a non-empty/],
    [{ auth: { scope: undefined } }, /key "scope": found undefined \(is its variable set\?\)/],
    [{ auth: { mode: 'optional', scope: 'a' } }, /mode "optional" beside scope/],
    [{ auth: { mode: false, role: 'a' } }, /mode false beside role/],
    [
      { auth: { Scope: 'a' } },
      /"Scope"\. Did you mean "scope"\? Known here: mode, use, scope, role/,
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
  const ok = (): string => 'ok'
  for (const [config, message] of rows) {
    const app = appWith(t, standardOptions(), (app) => app.get('/', { config }, ok))
    await t.rejects(app, { code: 'ERR_AUTH_MARK', message }, JSON.stringify(config))
  }
  for (const [access, message] of [
    [{ scopeOf: () => [] }, /unknown option "access\.scopeOf"/],
    [{ scopesOf: ['a'] }, /option "access\.scopesOf": found an array/],
    [() => [], /option "access"/],
  ] as const) {
    const app = appWith(t, { ...standardOptions(), access } as never)
    await t.rejects(app, { code: 'ERR_AUTH_OPTION', message }, String(message))
  }
})
