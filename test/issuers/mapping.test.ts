// The options `roles` and `scopes` of an issuer.
import t, { type Test } from 'tap'
import type { AuthnOptions, IssuerOptions } from '../../lib/index.js'
import { actingAs, authAttacks, authnTesting, mintToken } from '../../lib/testing/index.js'
import { appWith, bearer, logLines, secret, type TestApp } from '../helpers/app.js'
import { startIssuer } from '../helpers/issuer.js'

type Claims = Record<string, unknown>

async function setting(
  t: Test,
  more: Partial<IssuerOptions>,
  options: AuthnOptions = {},
  declare: (app: TestApp) => unknown = () => undefined,
) {
  const issuer = await startIssuer(t)
  const { lines, stream } = logLines()
  const userService = { findByUsername: (name: string | number) => ({ name, roles: ['own'] }) }
  const issuers = { corp: issuer.options(more) }
  const app = await appWith(
    t,
    { userService, jwt: { secret }, issuers, ...options },
    async (app) => {
      await declare(app)
      const use = ['corp', 'jwt']
      for (const role of ['admin', 'own', 'Global Admin', '']) {
        const mark = role === '' ? ({ use, scope: 'read' } as const) : { use, role }
        app.get(`/${role.replace(' ', '-')}`, { config: { auth: mark } }, () => 'in')
      }
    },
    { logger: { level: 'warn', stream } },
  )
  const statusOf = async (url: string, token: string): Promise<number> =>
    (await app.inject({ url, headers: bearer(token) })).statusCode
  return {
    app,
    issuer,
    statusOf,
    async get(claims: Claims) {
      const token = issuer.token({ claims })
      return [await statusOf('/admin', token), await statusOf('/', token)] as const
    },
    warnings: () => lines.filter(({ issuer }) => issuer === 'corp'),
  }
}

/** Both are granted, or the role or the scope alone, or nothing. */
const [both, role, scope, none] = [
  [200, 200],
  [200, 403],
  [403, 200],
  [403, 403],
]

t.test('roles and scopes are read at the paths of an issuer', async (t) => {
  const names = ['admin', 'read']
  const rows: [string | readonly string[], Claims, unknown][] = [
    ['groups', { groups: names }, both],
    ['cognito:groups', { 'cognito:groups': names }, both],
    ['a_b-C:9', { 'a_b-C:9': names }, both],
    ['realm_access.roles', { realm_access: { roles: names } }, both],
    ['["https://example.com/roles"]', { 'https://example.com/roles': names }, both],
    ['r["notes.api"].roles', { r: { 'notes.api': { roles: names } } }, both],
    ['["a.b"]["c d"]', { 'a.b': { 'c d': names } }, both],
    [String.raw`["\"]\\"]`, { '"]\\': names }, both],
    ['["__proto__"]', {}, none],
    [['a', 'b.c'], { a: ['admin'], b: { c: ['read'] } }, both],
    [['a', 'b.c'], { b: { c: ['admin'] } }, role],
    [['a', 'b.c'], { a: 7, b: { c: ['read'] } }, scope],
    ['a', { a: 'admin' }, role],
    ['a', { a: 'x read' }, scope],
    ['a', { a: ['admin read'] }, none],
    ['a', { a: 'admin read' }, scope],
    ['groups', { roles: names, scope: 'read', scp: names }, none],
    [['scope', 'permissions'], { scope: 'x', permissions: ['read'] }, scope],
    [['scope', 'permissions'], { scope: 'read' }, scope],
  ]
  for (const [path, claims, expected] of rows) {
    const { get } = await setting(t, { roles: path, scopes: path })
    t.strictSame(await get(claims), expected, `${String(path)} ${JSON.stringify(claims)}`)
  }
  const { issuer, statusOf } = await setting(t, { roles: 'roles' })
  const token = issuer.token({ claims: { roles: 'Global Admin' } })
  t.equal(await statusOf('/Global-Admin', token), 200, 'a string is one role')
})

/** Values that give no names, and the type that the log names; null where nothing is wrong. */
const malformed: [value: unknown, found: string | null][] = [
  [undefined, null],
  [null, 'null'],
  [true, 'boolean'],
  [false, 'boolean'],
  [0, 'number'],
  [1e300, 'number'],
  [{}, 'object'],
  [{ admin: true, read: true }, 'object'],
  [{ 0: 'admin', 1: 'read', length: 2 }, 'object'],
  [{ roles: ['admin', 'read'] }, 'object'],
  [[], null],
  [[[]], 'array with object'],
  [[['admin', 'read']], 'array with object'],
  [['admin', 'read', null], 'array with object'],
  [['admin', 'read', 1], 'array with number'],
  [['admin', 'read', true], 'array with boolean'],
  [['admin', 'read', {}], 'array with object'],
  [['admin', 'read', ['x']], 'array with object'],
  [['admin', 'read', ''], 'array with empty string'],
  [['admin read'], null],
  [['admin,read'], null],
  [['admin ', ' read'], null],
  [['admin\0', 'read\0'], null],
  [['ADMIN', 'READ'], null],
  [['*'], null],
  ['admin,read', null],
  ['admin\tread', null],
  ['admin\u00a0read', null],
  ['["admin","read"]', null],
  [' ', null],
]

t.test('what holds no names grants nothing, and is logged by its type once a minute', async (t) => {
  for (const [value, found] of malformed) {
    const { get, warnings } = await setting(t, { roles: 'a.b', scopes: ['a.b'] })
    const title = JSON.stringify(value)
    for (const more of [1, 2]) t.strictSame(await get({ a: { b: value }, more }), none, title)
    const logged = warnings().map(({ level, path, found }) => ({ level, path, found }))
    const line = { level: 40, path: 'a.b', found }
    t.strictSame(logged, found === null ? [] : [line, line], `${title}: for roles, and for scopes`)
  }
  for (const a of ['admin', ['admin'], [{ b: ['admin'] }], 7, null, { b: undefined, c: ['x'] }]) {
    const { get, warnings } = await setting(t, { roles: ['a.b', 'a.0', 'a.length'] })
    t.strictSame(await get({ a }), none, `on the way: ${JSON.stringify(a)}`)
    t.strictSame(warnings(), [])
  }
})

t.test('prototypes hold no names', async (t) => {
  const prototype = Object.prototype as { roles?: unknown; polluted?: unknown }
  t.teardown(() => {
    delete prototype.roles
    delete prototype.polluted
  })
  const paths = ['__proto__', 'constructor', 'constructor.name', 'toString.name', 'hasOwnProperty']
  for (const path of [
    ...paths,
    '__proto__.roles',
    'a.constructor.name',
    'polluted',
    'a.polluted',
  ]) {
    const { get, warnings } = await setting(t, { roles: path, scopes: path })
    prototype.polluted = ['admin', 'read']
    const answer = await get({ a: { b: [] } })
    delete prototype.polluted
    t.strictSame([answer, warnings()], [none, []], path)
  }
})

t.test('a path that is none makes startup fail, and the message shows the brackets', async (t) => {
  const issuer = { issuer: 'https://id.example.com', audience: 'a', user: () => null }
  const bad: unknown[] = ['', ' ', 'a b', 'a\n', '["a\n"]', '["a\\u0062"]', '[""]', '["a"]b']
  bad.push(...'. a. .a a..b a/b a[0] a[b] é ["a] ["a" a.["b"] ["a"]. $.a *'.split(' '), "a['b']")
  bad.push(7, true, null, {}, ['a', ''], ['a', 7], [], [['a']], Array(21).fill('a'))
  for (const option of ['roles', 'scopes']) {
    for (const path of bad) {
      const issuers = { corp: { ...issuer, [option]: path } }
      await t.rejects(
        appWith(t, { issuers }),
        { code: 'ERR_AUTH_OPTION', message: /"issuers\.corp\.(?:roles|scopes).*\["https:/s },
        `${option}: ${JSON.stringify(path)}`,
      )
    }
  }
  const all = Array(20).fill('a') as string[]
  await t.resolves(appWith(t, { issuers: { corp: { ...issuer, roles: all } } }))
})

t.test('the mapping counts for tokens of its issuer alone, after access', async (t) => {
  const more = { roles: 'r', scopes: 's', user: () => ({ name: 'alice', roles: ['own'] }) }
  const { app, issuer, get, statusOf } = await setting(t, more)
  const claims = { sub: 'alice', r: 'admin', s: 'read' }
  t.strictSame(await get(claims), both)
  t.equal(await statusOf('/own', issuer.token({ claims })), 403, 'not the roles of the user')
  const own = app.jwtService.generateTokenWithClaims({ ...claims, scope: '' })
  t.strictSame([await statusOf('/admin', own), await statusOf('/', own)], none, 'a token of ours')
  t.equal(await statusOf('/own', own), 200, 'has the roles of its user')
  const usual = app.jwtService.generateTokenWithClaims({ sub: 'alice', scope: 'read' })
  t.equal(await statusOf('/', usual), 200)

  const access = { rolesOf: () => ['own'], scopesOf: async () => ['read'] }
  const second = await setting(t, more, { access })
  t.strictSame(await second.get({ r: 'admin' }), scope, 'access comes before it')

  const only = await setting(t, { roles: 'r', user: () => ({ name: 'a', roles: ['admin'] }) })
  t.strictSame(await only.get({ scope: 'read' }), scope, 'scopes have no path: scope counts')
  t.strictSame(await only.get({ r: 'admin', s: 'read', scp: ['read'] }), both, 'or scp')
})

t.test('the names of a cached token are read once', async (t) => {
  const { issuer, statusOf, warnings } = await setting(t, { roles: 'r' })
  let later = 0
  const { now } = performance
  t.intercept(performance, 'now', { value: () => now.call(performance) + later })
  const [first, second] = [1, 2].map((r) => issuer.token({ claims: { r } }))
  for (const [token = '', count] of [
    [first, 1],
    [first, 1],
    [second, 2],
  ] as const) {
    t.equal(await statusOf('/admin', token), 403)
    t.equal(warnings().length, count)
    later += 61_000
  }
})

t.test('actingAs() reads claims as the issuer of the route does', async (t) => {
  const { app } = await setting(t, { roles: 'r', scopes: 's' }, {}, (app) =>
    app.register(authnTesting),
  )
  const user = { name: 'alice', roles: ['admin'] }
  const rows: [object | undefined, unknown][] = [
    [undefined, none],
    [{ claims: { r: ['admin'], s: 'read' } }, both],
    [{ claims: { scope: 'read' } }, none],
    [{ claims: { r: ['admin'] }, roles: [], scopes: ['read'] }, scope],
    [{ claims: { s: 'read' }, apiKey: { scopes: [] } }, role],
  ]
  for (const [options, expected] of rows) {
    const statusOf = async (url: string): Promise<number> =>
      (await app.inject({ url, ...actingAs(user, options) })).statusCode
    t.strictSame([await statusOf('/admin'), await statusOf('/')], expected, JSON.stringify(options))
  }
})

t.test('a route with mapped scopes rejects every attack', async (t) => {
  const { app } = await setting(t, { scopes: 'permissions' }, {}, (app) =>
    app.register(authnTesting),
  )
  const claims = { permissions: ['read'] }
  const headers = bearer(mintToken(app, { issuer: 'corp', sub: 'a', claims }))
  t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  const attack = { issuer: 'corp', sub: 'alice', claims, except: [/^(?!scope )/] }
  const report = await authAttacks(app, { url: '/', ...attack })
  t.strictSame(report.problems, [])
  t.ok(report.cases > 10, `users without the scope: ${report.cases} cases`)
})
