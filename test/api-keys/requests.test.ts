import { once } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { newKey, sealed } from '../../lib/api-keys/key.js'
import { digestOf } from '../../lib/common/digest.js'
import { authn, type ApiKeyStore, type StoredApiKey } from '../../lib/index.js'
import { bearer, basic, fastify, passwords, userService, users } from '../helpers/app.js'
import { job, keyApp, keyOptions, prefix, storeWith } from '../helpers/api-keys.js'
import { settle, until } from '../helpers/load.js'
import { rawRequest, vanish } from '../helpers/raw-socket.js'

/** A key that no store has. */
const unknownKey = (): string => newKey(prefix, job).issued.key
/** A key with another secret, and the checksum of that. */
const guessOf = (key: string): string => sealed(key.slice(0, 21) + unknownKey().slice(21, 53))

t.test('a key is a prefix, an id, a secret and a checksum; its secret is not stored', async (t) => {
  const { stored, issued } = newKey('acme_live', job)
  const { key } = issued
  t.match(key, /^acme_live_[0-9A-Za-z]{54}$/)
  t.equal(stored.id, key.slice(10, 26))
  t.equal(stored.digest, digestOf(key))
  t.notMatch(JSON.stringify(stored), key.slice(26, 58), 'the secret is not stored')
  const { get } = await keyApp(t)
  const vector = 'acme_0123456789abcdefAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4VUoai'
  const { app, stats } = await keyApp(t)
  await app.inject({ url: '/apiKey', headers: bearer(vector) })
  t.equal(stats().lookups, 1, 'its checksum is right')
  for (const wrong of ['4VUoaj', '4VUoaI', '5VUoai']) {
    t.equal((await get('/apiKey', bearer(vector.slice(0, -6) + wrong))).status, 401)
  }
})

t.test('a key is accepted as a Bearer token or in its header, after one look-up', async (t) => {
  const options = keyOptions({ header: 'X-API-Key' })
  const { get, issued, stats } = await keyApp(t, options)
  const apiKey = { id: issued.id, name: 'deploy job', owner: 'alice', scopes: ['notes:read'] }
  const welcome = { status: 200, body: { user: 'alice', apiKey } }
  for (const headers of [
    bearer(issued.key),
    { authorization: `bearer   ${issued.key}` },
    { 'x-api-key': issued.key },
    { authorization: 'Bearer', 'x-api-key': issued.key },
    { ...basic('staging', 'proxy'), 'x-api-key': issued.key },
  ]) {
    t.match(await get('/notes', headers), welcome)
  }
  t.match(stats(), { lookups: 1, hits: 4, size: 1, storeFailures: 0 })
  t.strictSame(
    options.userService.asked,
    Array(5).fill('alice'),
    'the owner is looked up each time',
  )
  const byHeader = await get('/notes', { 'x-api-key': issued.key })
  t.equal(byHeader.headers['cache-control'], 'private')
  t.notOk((await get('/notes', bearer(issued.key))).headers['cache-control'])
})

t.test('a response to a key in its header is private, unless the app says otherwise', async (t) => {
  const app = fastify(t)
  app.addHook('onRequest', async ({ url }, reply) => {
    if (url === '/cached') void reply.header('cache-control', 'public, max-age=60')
  })
  await app.register(authn, keyOptions({ header: 'x-api-key' }))
  const config = { auth: { mode: 'optional', use: ['apiKey', 'basic'] } } as const
  for (const url of ['/', '/cached']) app.get(url, { config }, () => 'ok')
  const { key } = await app.authn.apiKeys.issue(job)
  const cacheOf = async (url: string, headers: Record<string, string>): Promise<unknown> => {
    const response = await app.inject({ url, headers })
    t.equal(response.statusCode, 200)
    return response.headers['cache-control']
  }
  t.equal(await cacheOf('/', { 'x-api-key': key }), 'private')
  t.equal(await cacheOf('/cached', { 'x-api-key': key }), 'public, max-age=60')
  for (const headers of [{}, { 'x-api-key': '' }, bearer(key), basic('alice', passwords.alice)]) {
    t.equal(await cacheOf('/', headers as Record<string, string>), undefined)
  }
})

t.test('a rejected Authorization header is a 401 despite a good key in the header', async (t) => {
  const { get, issued } = await keyApp(t, keyOptions({ header: 'x-api-key' }), [
    'apiKey',
    'basic-apiKey',
  ])
  const good = { 'x-api-key': issued.key }
  for (const mode of ['apiKey', 'optional']) {
    t.equal((await get(`/${mode}`, { ...bearer(unknownKey()), ...good })).status, 401)
  }
  t.equal((await get('/basic-apiKey', { ...basic('alice', 'wrong'), ...good })).status, 401)
  t.match(await get('/basic-apiKey', { ...basic('alice', passwords.alice), ...good }), {
    status: 200,
    body: { apiKey: null },
  })
  const twice = { 'x-api-key': `${issued.key}, ${issued.key}` }
  t.equal((await get('/optional', twice)).status, 401, 'two of them are malformed')
  t.match(await get('/optional', { 'x-api-key': '' }), { status: 200, body: { user: null } })
})

t.test('a wrong key is a 401, and looked up only if its checksum is right', async (t) => {
  const { get, keys, issued, stats } = await keyApp(t)
  const revoked = await keys.issue(job)
  await keys.revoke(revoked.id, { owner: null })
  const swapped = issued.key.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  const invalid = {
    status: 401,
    body: { error: 'Your API key is invalid.' },
    challenge:
      'Bearer realm="Authorization required", error="invalid_token", error_description="The API key is invalid"',
  }
  const cases: [name: string, token: string, lookups: number][] = [
    ['no key at all', 'garbage', 0],
    ['too short', issued.key.slice(0, -1), 0],
    ['too long', `${issued.key}0`, 0],
    ['another prefix', issued.key.replace('acme', 'acmf'), 0],
    ['another case', issued.key.toUpperCase(), 0],
    ['a wrong checksum', swapped, 0],
    ['an unknown id', unknownKey(), 1],
    ['a wrong secret', guessOf(issued.key), 1],
    ['a revoked key', revoked.key, 1],
  ]
  for (const [name, token, lookups] of cases) {
    const before = stats().lookups
    t.match(await get('/apiKey', bearer(token)), invalid, name)
    t.equal(stats().lookups - before, lookups, `${name}: look-ups`)
    t.equal((await get('/optional', bearer(token))).status, 401, `${name}: optional`)
    t.match(await get('/try', bearer(token)), { status: 200, body: { user: null, apiKey: null } })
  }
  for (const headers of [{}, { authorization: 'Bearer ' }, basic('alice', passwords.alice)]) {
    t.match(await get('/apiKey', headers), {
      status: 401,
      challenge: 'Bearer realm="Authorization required"',
    })
    t.match(await get('/optional', headers), { status: 200, body: { user: null } })
  }
})

t.test('a key gets a 401 once it has expired, cached or not', async (t) => {
  for (const cache of [undefined, false] as const) {
    const { get, keys } = await keyApp(t, keyOptions({ cache }))
    const soon = new Date(Date.now() + 300)
    const { key } = await keys.issue({ owner: 'alice', name: 'x', scopes: [], expiresAt: soon })
    t.equal((await get('/apiKey', bearer(key))).status, 200)
    await until(() => Date.now() > soon.getTime() + 5, 'it has expired')
    t.match(await get('/apiKey', bearer(key)), {
      status: 401,
      body: { error: 'Your API key is expired.' },
      challenge: /error="invalid_token", error_description="The API key expired"/,
    })
  }
})

t.test('the owner of a key may be a number, and a deleted one is a 401', async (t) => {
  const service = userService([...users, { id: 7, name: 7 as never, password: '' }])
  const { get, keys } = await keyApp(t, { ...keyOptions(), userService: service })
  const seven = await keys.issue({ ...job, owner: 7 })
  t.match(await get('/apiKey', bearer(seven.key)), { status: 200, body: { user: 7 } })
  t.equal(service.asked.at(-1), 7, 'as a number')
  const gone = await keys.issue({ ...job, owner: 'gone' })
  t.match(await get('/apiKey', bearer(gone.key)), {
    status: 401,
    body: { error: 'Invalid credentials.' },
  })
  t.strictSame((await get('/try', bearer(gone.key))).body, { user: null, apiKey: null })
  const found = (await keys.list('7')).map(({ id, owner }) => [id, owner])
  t.strictSame(found, [[seven.id, 7]])
  t.strictSame(await keys.list(7), await keys.list('7'))
  t.equal(await keys.revoke(seven.id, { owner: '7' }), true)
})

t.test('a key has its own scopes, which access limits, and roles of its owner', async (t) => {
  const options = keyOptions()
  const stored = { id: 1, name: 'alice', password: '', roles: ['editor'], scope: 'notes:read' }
  options.userService = userService([stored])
  const { get, keys, issued } = await keyApp(t, options)
  t.equal((await get('/notes', bearer(issued.key))).status, 200)
  t.equal((await get('/editors', bearer(issued.key))).status, 200)
  const none = await keys.issue(job)
  t.equal((await get('/apiKey', bearer(none.key))).status, 200)
  t.match(await get('/notes', bearer(none.key)), {
    status: 403,
    challenge: /error="insufficient_scope".*scope="notes:read"/,
  })

  const asked: unknown[] = []
  const limited = await keyApp(t, {
    ...keyOptions(),
    access: {
      scopesOf: (_, request) => {
        asked.push(request.extra.apiKey?.id)
        return ['notes:write', 'notes:read'].slice(0, asked.length > 1 ? 1 : 2)
      },
    },
  })
  t.equal((await limited.get('/notes', bearer(limited.issued.key))).status, 200)
  const narrowed = await limited.get('/notes', bearer(limited.issued.key))
  t.equal(narrowed.status, 403, 'taken from the owner')
  t.strictSame(asked, [limited.issued.id, limited.issued.id])
  const readOnly = await limited.keys.issue(job)
  asked.length = 0
  t.equal((await limited.get('/notes', bearer(readOnly.key))).status, 403, 'nothing is added')
})

t.test('a route for tokens and keys rejects each by its own rules, in any order', async (t) => {
  const uses = ['jwt', 'jwt-apiKey', 'apiKey-jwt', 'basic-apiKey-jwt']
  const { app, get, issued, stats } = await keyApp(t, keyOptions(), uses)
  const token = app.jwtService.generateToken('alice')
  for (const path of uses.slice(1)) {
    t.match(await get(`/${path}`, bearer(token)), { status: 200, body: { apiKey: null } })
    t.match(await get(`/${path}`, bearer(issued.key)), { status: 200, body: { user: 'alice' } })
    t.match(await get(`/${path}`, bearer('acme_garbage')), {
      body: { error: /API key is invalid/ },
    })
    t.match(await get(`/${path}`, bearer('garbage')), { body: { error: /token is invalid/ } })
    t.match(await get(`/${path}`, bearer(`acme_x.${token.split('.').slice(1).join('.')}`)), {
      body: { error: /API key is invalid/ },
    })
  }
  t.equal(stats().lookups, 1)
  t.match(await get('/jwt', bearer(issued.key)), {
    status: 401,
    body: { error: 'This route does not accept API keys.' },
  })
})

t.test('without tokens, apiKey is the default authenticator after basic', async (t) => {
  const { jwt: _, ...options } = keyOptions()
  const { app } = await keyApp(t, options)
  t.strictSame(app.authn.authenticators, ['basic', 'apiKey'])
})

t.test('requests share a look-up, and a key revoked during it is a 401', async (t) => {
  const memory = memoryApiKeys({ prefix: 'shop' }).open('default')
  const waiting: (() => void)[] = []
  let holds = false
  const find: ApiKeyStore['find'] = async (id) => {
    const found = await memory.find(id)
    if (holds) await new Promise<void>((resolve) => waiting.push(resolve))
    return found
  }
  const options = keyOptions({ store: storeWith({ find }, memory) })
  const { app, get, keys, issued, stats } = await keyApp(t, options)
  holds = true
  const sent = [issued.key, issued.key, guessOf(issued.key)]
  const both = sent.map((key) => get('/apiKey', bearer(key)))
  await until(() => waiting.length === 1, 'the store is asked')
  waiting[0]?.()
  const seen = (await Promise.all(both)).map(({ status }) => status)
  t.strictSame(seen, [200, 200, 401])
  t.equal(stats().lookups, 1)

  const fresh = await keys.issue(job)
  const late = get('/apiKey', bearer(fresh.key))
  await until(() => waiting.length === 2, 'the store is asked')
  holds = false
  t.equal(await keys.revoke(fresh.id, { owner: null }), true)
  waiting[1]?.()
  t.equal((await late).status, 401)
  t.equal((await get('/apiKey', bearer(fresh.key))).status, 401, 'it is not cached')

  holds = true
  const { key } = await keys.issue(job)
  const { asked } = options.userService
  asked.length = 0
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const connections = once(app.server, 'connection') as Promise<[Socket]>
  const text = rawRequest('/apiKey', [`Authorization: Bearer ${key}`])
  const isAsked = until(() => waiting.length === 3, 'the store is asked')
  await vanish(Number(new URL(address).port), text, isAsked)
  const [connection] = await connections
  await until(() => connection.destroyed, 'the client has left')
  waiting[2]?.()
  await settle(10)
  t.strictSame(asked, [], 'a client that has left')
})

t.test('without a cache, a request does not use a look-up that began before it', async (t) => {
  const memory = memoryApiKeys().open('default')
  const answers: (() => void)[] = []
  const find: ApiKeyStore['find'] = async (id) => {
    const found = await memory.find(id)
    await new Promise<void>((resolve) => answers.push(resolve))
    return found
  }
  const options = keyOptions({ cache: false, store: storeWith({ find }, memory) })
  const { get, issued } = await keyApp(t, options)
  const early = get('/apiKey', bearer(issued.key))
  await until(() => answers.length === 1, 'the store is asked')
  // As another process does it.
  await memory.revoke(issued.id, Date.now() / 1000, null)
  const late = [1, 2, 3].map(() => get('/apiKey', bearer(issued.key)))
  await settle()
  answers[0]?.()
  t.equal((await early).status, 200)
  await until(() => answers.length === 2, 'the store is asked again')
  answers[1]?.()
  const statuses = (await Promise.all(late)).map(({ status }) => status)
  t.strictSame(statuses, [401, 401, 401])
  t.equal(answers.length, 2, 'they share one look-up')
})

t.test('a store that fails or answers nonsense is a 503, but tokens are accepted', async (t) => {
  const memory = memoryApiKeys({ prefix: 'shop' }).open('default')
  let answer: (id: string) => unknown = (id) => memory.find(id)
  const store = storeWith({ find: (id) => answer(id) as Promise<StoredApiKey | null> }, memory)
  const uses = ['apiKey', 'jwt-apiKey']
  const { app, get, keys, issued, stats } = await keyApp(t, keyOptions({ store }), uses)
  const other = await keys.issue(job)
  t.equal((await get('/apiKey', bearer(issued.key))).status, 200)
  const whole = (await memory.find(other.id)) as StoredApiKey
  const answers: [string, (id: string) => unknown][] = [
    // oxlint-disable-next-line prefer-promise-reject-errors -- what a store of the app may do
    ['rejects with nothing', () => Promise.reject(undefined)],
    ['rejects', () => Promise.reject(new Error('gone'))],
    ['undefined', () => undefined],
    ['another key', () => Promise.resolve({ ...whole, id: issued.id })],
    ['without a digest', () => Promise.resolve({ ...whole, digest: undefined })],
    ['times that are dates', () => Promise.resolve({ ...whole, createdAt: new Date() })],
    ['an end beyond a Date', () => Promise.resolve({ ...whole, expiresAt: 8.64e12 + 1 })],
    ['a use before a Date', () => Promise.resolve({ ...whole, lastUsedAt: -8.64e12 - 1 })],
    ['without an end', () => Promise.resolve({ ...whole, expiresAt: undefined })],
    ['without a successor', () => Promise.resolve({ ...whole, replacedBy: undefined })],
    ['scopes as a string', () => Promise.resolve({ ...whole, scopes: 'a b' })],
    ['an owner that is no number', () => Promise.resolve({ ...whole, ownerType: 'number' })],
    ['a list', () => Promise.resolve([whole])],
    ['too slow', () => new Promise(() => undefined)],
  ]
  for (const [name, wrong] of answers) {
    answer = wrong
    for (const path of ['apiKey', 'optional', 'try', 'jwt-apiKey']) {
      const { status, headers } = await get(`/${path}`, bearer(other.key))
      t.strictSame([status, headers['retry-after']], [503, '2'], `${name}: ${path}`)
      if (name === 'too slow') break
    }
  }
  t.ok(stats().storeFailures >= answers.length)
  const token = app.jwtService.generateToken('alice')
  t.equal((await get('/jwt-apiKey', bearer(token))).status, 200)
  await t.rejects(keys.rotate(other.id, { owner: null, overlap: 0 }), {
    code: 'ERR_AUTH_STORE_UNAVAILABLE',
  })
  answer = (id) => memory.find(id)
  t.equal((await get('/apiKey', bearer(other.key))).status, 200, 'it is back')
})

t.test('the last use of a key is stored once a minute, if the request passed', async (t) => {
  const memory = memoryApiKeys({ prefix: 'shop' }).open('default')
  const touched: string[] = []
  let fails = false
  const touch: ApiKeyStore['touch'] = async (id, at) => {
    touched.push(id)
    if (fails) throw new Error('gone')
    await memory.touch(id, at)
  }
  const options = keyOptions({ cache: false, store: storeWith({ touch }, memory) })
  const { get, keys, issued, stats } = await keyApp(t, options)
  for (let times = 0; times < 3; times++) await get('/apiKey', bearer(issued.key))
  t.strictSame(touched, [issued.id])
  const [info] = await keys.list('alice')
  t.ok(info?.lastUsedAt instanceof Date)
  const gone = await keys.issue({ ...job, owner: 'gone' })
  await get('/apiKey', bearer(gone.key))
  t.strictSame(touched, [issued.id], 'its owner is gone')
  fails = true
  const other = await keys.issue({ ...job, owner: 'bob' })
  t.equal((await get('/apiKey', bearer(other.key))).status, 200)
  await until(() => stats().storeFailures === 1, 'the failure is counted')
})

t.test('guesses at the secret of a key get a 429, but the right key passes', async (t) => {
  const { app, get, issued } = await keyApp(t, {
    ...keyOptions({ cache: false }),
    throttle: { perUsername: 3, perAddress: 100, window: 60 },
  })
  const guess = async (): Promise<number> => {
    return (await get('/apiKey', bearer(guessOf(issued.key)))).status
  }
  t.strictSame([await guess(), await guess(), await guess(), await guess()], [401, 401, 401, 429])
  t.equal((await get('/apiKey', bearer(issued.key))).status, 200)
  t.equal(await guess(), 429, 'a success resets nothing')
  for (let times = 0; times < 5; times++) {
    const { status } = await get('/apiKey', bearer(unknownKey()))
    t.equal(status, 401, 'unknown ones are not counted')
  }
  const login = await app.inject({
    method: 'POST',
    url: '/login',
    payload: { username: 'alice', password: passwords.alice },
  })
  t.equal(login.statusCode, 200)
})
