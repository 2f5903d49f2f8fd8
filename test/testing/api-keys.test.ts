import t, { type Test } from 'tap'
import Fastify from 'fastify'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { authn, type ApiKeysOptions, type AuthnOptions } from '../../lib/index.js'
import {
  actingAs,
  authAttacks,
  authnTesting,
  mintApiKey,
  type AttackOptions,
  type BrokenApiKey,
} from '../../lib/testing/index.js'
import { fastify, appWith, basic, passwords, secret, userService } from '../helpers/app.js'
import { about, keyApp, keyOptions, keysOf, prefix, storeWith } from '../helpers/api-keys.js'
import { rejectionOf } from '../helpers/errors.js'
import { eventsOf } from '../helpers/sessions.js'

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

t.test('mintApiKey() makes a key that the app accepts', async (t) => {
  const { app, keys, get } = await keyApp(t)
  const expiresAt = new Date(Date.now() + 60_000)
  const key = await mintApiKey(app, { owner: 'bob', scopes: ['notes:read'], name: 'x', expiresAt })
  const plain = await mintApiKey(app, { owner: 'bob' })
  t.match(await get('/notes', bearer(key)), { status: 200, body: { user: 'bob' } })
  t.match(await get('/notes', bearer(plain)), { status: 403 })
  t.match(await get('/apiKey', bearer(plain)), { status: 200 })
  const [newest, first] = await keys.list('bob')
  t.match(first, { name: 'x', scopes: ['notes:read'], expiresAt })
  t.match(newest, { name: 'test key', scopes: [], expiresAt: null })
})

t.test('the kit makes more keys than an owner may have', async (t) => {
  const { app, get } = await keyApp(t, keyOptions({ maxPerOwner: 1 }))
  await mintApiKey(app, { owner: 'alice' })
  const key = await mintApiKey(app, { owner: 'alice' })
  t.match(await get('/apiKey', bearer(key)), { status: 200 })
  const report = await authAttacks(app, { url: '/notes', sub: 'alice' })
  t.strictSame(report.problems, [])
})

t.test('mintApiKey() makes keys of each flaw, which are rejected for it', async (t) => {
  const { app, get, stats } = await keyApp(t)
  const failures = eventsOf(t, 'failure')
  const rows: Record<BrokenApiKey, [code: string, lookups: number]> = {
    checksum: ['ERR_AUTH_API_KEY_INVALID', 0],
    malformed: ['ERR_AUTH_API_KEY_INVALID', 0],
    otherPrefix: ['ERR_AUTH_API_KEY_INVALID', 0],
    secret: ['ERR_AUTH_API_KEY_INVALID', 1],
    unknown: ['ERR_AUTH_API_KEY_INVALID', 1],
    revoked: ['ERR_AUTH_API_KEY_INVALID', 1],
    expired: ['ERR_AUTH_API_KEY_EXPIRED', 1],
  }
  for (const [broken, [code, lookups]] of Object.entries(rows)) {
    const owner = broken === 'secret' ? 7 : 'alice'
    const key = await mintApiKey(app, { owner, broken: broken as BrokenApiKey })
    const before = stats().lookups
    t.equal((await get('/apiKey', bearer(key))).status, 401, broken)
    t.strictSame([failures.pop()?.code, stats().lookups - before], [code, lookups], broken)
    t.equal(key.startsWith(`${prefix}_`), broken !== 'otherPrefix')
    t.equal(/_[0-9A-Za-z]{54}$/.test(key), broken !== 'malformed')
  }
})

t.test('a key of another prefix has a right checksum', async (t) => {
  const { app } = await keyApp(t)
  const key = await mintApiKey(app, { owner: 'alice', broken: 'otherPrefix' })
  const other = await keyApp(t, keyOptions({ prefix: key.slice(0, key.indexOf('_')) }))
  await other.get('/apiKey', bearer(key))
  t.equal(other.stats().lookups, 1, 'an app with that prefix looks it up')
})

t.test('mintApiKey() rejects an app without API keys and bad options', async (t) => {
  const { app } = await keyApp(t)
  const none = await appWith(t, { userService: userService(), jwt: { secret } })
  const rows: [string, Parameters<typeof mintApiKey>][] = [
    ['ERR_AUTH_TESTING', [none, { owner: 'alice' }]],
    ['ERR_AUTH_TESTING', [Fastify(), { owner: 'alice' }]],
    ['ERR_AUTH_TESTING', [app, { owner: 'alice', broken: 'toString' as never }]],
    ['ERR_AUTH_API_KEY', [app, {} as never]],
    ['ERR_AUTH_API_KEY', [app, { owner: 'alice', expiresAt: new Date(0) }]],
    ['ERR_AUTH_API_KEY', [app, { owner: 'alice', scopes: ['a b'] }]],
  ]
  for (const [code, args] of rows) {
    t.match(await rejectionOf(mintApiKey(...args)), { code }, code)
  }
})

t.test('mintApiKey() takes the scope in which the plugin is registered', async (t) => {
  const app = fastify(t)
  let inner: typeof app | undefined
  await app.register(async (scope) => {
    inner = scope
    await scope.register(authn, keyOptions())
    scope.get('/in', { config: { auth: { use: 'apiKey' } } }, about)
  })
  await app.ready()
  const key = await mintApiKey(inner as typeof app, { owner: 'alice' })
  t.equal((await app.inject({ url: '/in', headers: bearer(key) })).statusCode, 200)
  t.match(await rejectionOf(mintApiKey(app, { owner: 'alice' })), { code: 'ERR_AUTH_TESTING' })
  const report = await authAttacks(app, { url: '/in', sub: 'alice' })
  t.strictSame([report.problems, report.cases > 150], [[], true], String(report))
})

async function actingApp(t: Test, more: AuthnOptions = {}) {
  return appWith(t, { ...keyOptions(), ...more }, (app) => {
    void app.register(authnTesting)
    app.get('/any', { config: { auth: { use: ['jwt', 'apiKey'] } } }, (request) => ({
      ...about(request),
      isFrozen:
        Object.isFrozen(request.extra.apiKey) && Object.isFrozen(request.extra.apiKey?.scopes),
    }))
    app.get('/notes', { config: { auth: { use: 'apiKey', scope: 'notes:read' } } }, about)
  })
}

t.test('actingAs() with an API key gives the request its owner and scopes', async (t) => {
  const app = await actingApp(t)
  const get = async (url: string, ...args: Parameters<typeof actingAs>) => {
    const response = await app.inject({ url, ...actingAs(...args) })
    return { status: response.statusCode, ...response.json<object>() }
  }
  const alice = { id: 1, name: 'alice' }
  const apiKey = { id: 'abc', name: 'job', scopes: ['notes:read'] }
  const expected = { status: 200, user: 'alice', apiKey: { ...apiKey, owner: 1 } }
  t.match(await get('/any', alice, { apiKey }), { ...expected, isFrozen: true })
  t.match(await get('/notes', alice, { apiKey }), expected)
  const plain = { id: '0'.repeat(16), name: 'test key', owner: 1, scopes: [] }
  t.match(await get('/any', alice, { apiKey: {} }), { status: 200, apiKey: plain })
  t.match(await get('/notes', alice, { apiKey: {} }), { status: 403 })
  const claims = { scope: 'notes:read' }
  t.match(await get('/notes', alice, { apiKey: {}, claims }), { status: 403 }, 'only its own')
  t.match(await get('/notes', alice, { apiKey: {}, scopes: ['notes:read'] }), { status: 200 })
  t.match(await get('/notes', alice, { apiKey, scopes: [] }), { status: 403 })
  t.match(await get('/any', alice), { apiKey: null })
  for (const [user, owner] of [
    [{ username: 'bob', id: 2 }, 2],
    [{ username: 'bob' }, 'bob'],
    [{ name: '', username: 'bob' }, 'bob'],
    [{ email: 'x' }, 'test owner'],
  ] as const) {
    t.match(await get('/any', user, { apiKey }), { apiKey: { owner } })
  }
  t.throws(() => actingAs(alice, { apiKey: { scopes: ['a b'] } }), { code: 'ERR_AUTH_TESTING' })
  t.throws(() => actingAs(alice, { apiKey: { scopes: 'a' as never } }), {
    message: /apiKey.scopes/,
  })
})

t.test('access.scopesOf limits an acting API key, and events name it', async (t) => {
  const successes = eventsOf(t, 'success')
  const app = await actingApp(t, {
    access: {
      scopesOf: ({ name }: { name: string }) => (name === 'a' ? ['notes:read'] : []),
    } as never,
  })
  const apiKey = { id: 'abc', scopes: ['notes:read'] }
  const statusOf = async (name: string) =>
    (await app.inject({ url: '/notes', ...actingAs({ name }, { apiKey }) })).statusCode
  t.strictSame([await statusOf('a'), await statusOf('b')], [200, 403])
  t.match(successes, [{ apiKeyId: 'abc' }])
  t.equal(successes.length, 1)
})

const notes = { use: 'apiKey', scope: 'notes:read' }

/** An app with one route, which is attacked. */
async function attacked(
  t: Test,
  auth: unknown,
  attack: Partial<AttackOptions> | ((app: Awaited<ReturnType<typeof appWith>>) => Promise<object>),
  apiKeys: Partial<ApiKeysOptions> = {},
) {
  const app = await appWith(t, keyOptions(apiKeys), (app) => {
    app.get('/me', { config: { auth } as { auth: true } }, about)
  })
  const options = typeof attack === 'function' ? await attack(app) : attack
  return { app, report: await authAttacks(app, { url: '/me', sub: 'alice', ...options }) }
}

t.test('a protected route rejects every attack with API keys', async (t) => {
  const header = { header: 'x-api-key' }
  const ofAlice = (app: Parameters<typeof keysOf>[0]) =>
    mintApiKey(app, { owner: 'alice', scopes: ['notes:read'] })
  const rows: [
    string,
    Parameters<typeof attacked>[1],
    Parameters<typeof attacked>[2],
    Partial<ApiKeysOptions>?,
  ][] = [
    ['keys alone', { use: 'apiKey' }, {}],
    ['tokens and keys', { use: ['jwt', 'apiKey'] }, {}],
    ['Basic and keys', { use: ['basic', 'apiKey'] }, {}],
    ['a scope', notes, {}],
    [
      'tokens, and a scope',
      { ...notes, use: ['jwt', 'apiKey'] },
      { claims: { scope: 'notes:read' } },
    ],
    ['optional', { use: 'apiKey', mode: 'optional' }, { optional: true }],
    [
      'a good key',
      notes,
      async (app) => ({ sub: undefined, good: `Bearer ${await ofAlice(app)}` }),
    ],
    [
      'a header',
      notes,
      async (app) => ({ sub: undefined, good: { 'X-Api-Key': await ofAlice(app) } }),
      header,
    ],
    ['no cache', { use: 'apiKey' }, {}, { cache: false }],
  ]
  for (const [title, auth, attack, apiKeys] of rows) {
    const { report } = await attacked(t, auth, attack, apiKeys)
    t.strictSame(report.problems, [], `${title}: ${String(report)}`)
    t.ok(report.cases > 130, `${title}: ${report.cases} cases`)
  }
})

t.test('authAttacks() finds guards that check only a part of a key', async (t) => {
  const { app } = await keyApp(t)
  const key = await mintApiKey(app, { owner: 'alice' })
  const names = async (lets: (found: string) => boolean, good: object = bearer(key)) => {
    const careless = fastify(t)
    careless.get('/me', ({ headers, query }, reply) => {
      const text = (headers.authorization ?? String(headers['x-api-key'])).replace(/^bearer /i, '')
      const { token = text } = query as { token?: string }
      return lets(token.replace('Bearer ', '')) ? 'in' : reply.code(401).send()
    })
    const report = await authAttacks(careless, {
      url: '/me',
      good: good as { 'x-api-key': string },
    })
    t.match(report.leftOut.join(), /broken API keys/)
    return report.problems.map(({ case: name }) => name)
  }
  const places = key.length - 6
  const byKey = await names((found) => found.slice(0, places) === key.slice(0, places))
  const changed = byKey.filter((name) => name.startsWith('API key: place'))
  t.equal(changed.length, 6, 'each place of the checksum')
  t.ok(byKey.includes('good Bearer in the query'), byKey.join())
  const header = await names((found) => found.endsWith(key.slice(5)), { 'x-api-key': key })
  for (const [title, isFound] of [
    ['API key: place 1 changed', true],
    ['API key: place 1 changed, with a right checksum', false],
    ['API key: good Bearer in the query', true],
  ] as const) {
    t.equal(header.includes(title), isFound, title)
  }
})

t.test('authAttacks() finds a store that never revokes and scopes that are ignored', async (t) => {
  const base = memoryApiKeys({ prefix: 'shop' }).open('default')
  const store = storeWith({ revoke: async () => true }, base)
  const { report } = await attacked(t, { use: 'apiKey' }, {}, { store })
  const found = report.problems.map(({ case: name, status }) => [name, status])
  t.strictSame(found, [['API key: revoked', 200]])
  const app = await appWith(t, keyOptions(), (app) => {
    const isFirst = (scopes: readonly string[] = []) =>
      scopes.some((each) => each.startsWith('notes:r'))
    app.get('/me', { config: { auth: { use: 'apiKey' } } }, ({ extra }, reply) =>
      isFirst(extra.apiKey?.scopes) ? 'in' : reply.code(403).send(),
    )
  })
  const careless = await authAttacks(app, { url: '/me', sub: 'alice', scope: 'notes:read' })
  const names = careless.problems.map(({ case: name }) => name)
  t.ok(names.includes('API key: scope "notes:readx" for "notes:read"'), names.join('\n'))
  const seen = names.every((name) => name.startsWith('API key: scope '))
  t.ok(seen, names.join('\n'))
})

t.test('authAttacks() makes no API key for a route that accepts none', async (t) => {
  for (const [auth, options] of [
    [true, {}],
    [{ use: 'basic' }, { good: basic('alice', passwords.alice).authorization }],
  ] as const) {
    const { app, report } = await attacked(t, auth, options)
    t.strictSame(report.problems, [], String(report))
    t.strictSame(await keysOf(app).list('alice'), [], 'no key was made')
  }
  const wrong = await attacked(t, { use: 'apiKey' }, { sub: 'unknown' })
  t.match(wrong.report.problems, [{ case: 'good credentials', status: 401 }])
})
