// Uses each entry point alone in a process of its own, by `import` and by `require`: what it needs, and only another one
// happens to load, is found only there. Nothing else of the package is loaded before its first use.
//
//   node alone.mjs                 all of them
//   node alone.mjs sessions esm    one; the stores are also tried in the Redis and PostgreSQL of REDIS_URL and DATABASE_URL
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const require = createRequire(import.meta.url)
const { REDIS_URL, DATABASE_URL } = process.env
const secret = 'secret-secret-secret-secret-secret'
const now = () => Date.now() / 1000

const uses = {
  async '.'({ default: authn, channels }) {
    const issued = []
    channels.apiKey.subscribe(({ action }) => issued.push(action))
    const { memoryApiKeys } = require('fastify-authn/api-keys')
    const app = require('fastify')()
    const userService = { findByUsername: (name) => ({ name }) }
    const apiKeys = { prefix: 'acme', store: memoryApiKeys() }
    await app.register(authn, { userService, jwt: { secret }, apiKeys })
    app.get('/me', { config: { auth: { use: ['jwt', 'apiKey'] } } }, ({ user }) => user)
    const key = { owner: 'bob', name: 'job', scopes: [], expiresAt: null }
    const { key: ofBob } = await app.authn.apiKeys.issue(key)
    for (const [name, token] of [
      ['alice', app.jwtService.generateToken('alice')],
      ['bob', ofBob],
    ]) {
      const me = await app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })
      assert.deepEqual([me.statusCode, me.json()], [200, { name }])
    }
    assert.equal((await app.inject('/me')).statusCode, 401)
    assert.deepEqual(issued, ['issued'])
    await app.close()
  },

  context({ runAs, userFromContext }) {
    assert.equal(userFromContext(), null)
    runAs({ name: 'job' }, () => assert.deepEqual(userFromContext(), { name: 'job' }))
  },

  async 'api-keys'({ memoryApiKeys, redisApiKeys, sqlApiKeys }) {
    await withStores([memoryApiKeys, redisApiKeys, sqlApiKeys], async (store) => {
      const [id, nextId] = [1, 2].map(() => randomBytes(8).toString('hex'))
      const times = { createdAt: now(), expiresAt: null, lastUsedAt: null, revokedAt: null }
      const owner = { owner: 'entry', ownerType: 'string', name: 'job', scopes: ['a'] }
      const key = { id, digest: id, ...owner, ...times, replacedBy: null }
      const next = { ...key, id: nextId }
      assert.equal(await store.create(key, 100), true)
      await store.touch(id, now())
      assert.equal(await store.replace(id, next, now() + 60, 'entry', 100), true)
      assert.equal((await store.find(id)).replacedBy, next.id)
      assert.equal(await store.revoke(next.id, now(), 'entry'), true)
      assert.ok((await store.list('entry')).some((each) => each.id === next.id && each.revokedAt))
    })
  },

  async sessions({ memorySessions, redisSessions, sqlSessions }) {
    const user = { sub: 'alice', address: '127.0.0.1', userAgent: 'entry', data: '' }
    const limits = { lifetime: 3600, idle: 3600, revocationTtl: 300, maxPerUser: 100 }
    const shared = { ...user, ...limits }
    await withStores([memorySessions, redisSessions, sqlSessions], async (store) => {
      const session = (name) => ({
        ...shared,
        sid: name,
        handle: `${name}-handle`,
        current: `${name}-current`,
      })
      await store.create(session('revoked'))
      assert.equal((await store.revoke({ sid: 'revoked' }, 300)).length, 1)
      await store.create(session(`stays-${now()}`))
      assert.equal((await store.list('alice')).length, 1)
    })
  },

  async users({ memoryUsers, sqlUsers }) {
    await withStores([memoryUsers, null, sqlUsers], async (store) => {
      const id = randomUUID()
      const email = `${id}@shop.example`
      const row = { id, email, name: 'Alice', roles: ['admin'], password: null, columns: {} }
      const identity = { provider: 'corp', issuer: 'https://corp.example', subject: id }
      assert.equal((await store.create(row, identity)).email, email)
      assert.equal(await store.create({ ...row, id: randomUUID() }, null), null)
      assert.equal(await store.setDisabled(id, true), true)
      assert.ok((await store.findByIdentity(identity.issuer, id)).disabledAt instanceof Date)
      const ways = { password: true, passkeys: true, issuers: [identity.issuer] }
      assert.equal(await store.unlink(id, identity.issuer, id, ways), 'last')
      assert.equal((await store.list({ limit: 1, email })).users.length, 1)
      assert.equal(await store.remove(id), true)
    })
  },

  providers({ apple, github, microsoft, ...others }) {
    const given = { clientId: 'a', clientSecret: 'b' }
    const { oauth2, issuer } = github({ ...given, baseUrl: 'https://git.example' })
    assert.equal(issuer, 'https://git.example/login/oauth')
    assert.equal(oauth2.tokenEndpoint, `${issuer}/access_token`)
    const { tenants } = microsoft({ ...given, tenant: 'organizations', tenants: () => true })
    assert.deepEqual(['9188040d-6c67-4c5b-b112-36a304b66dad', 'a'].map(tenants), [false, true])
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const privateKey = pair.export({ type: 'pkcs8', format: 'pem' })
    const { clientSecret } = apple({ clientId: 'a', teamId: 'T', keyId: 'K', privateKey })
    assert.equal(clientSecret().split('.').length, 3)
    assert.throws(() => apple({ clientId: 'a', teamId: 'T', keyId: 'K' }), {
      code: 'ERR_AUTH_OPTION',
    })
    const entries = Object.entries(others).filter(([name]) => name !== 'default')
    for (const [name, entry] of entries) assert.match(entry(given).issuer, /^https:/, name)
    assert.equal(entries.length, 9)
    // It loads nothing of the plugin.
    const loaded = Object.keys(require.cache).filter((file) => /fastify-authn[^]*\.js$/.test(file))
    assert.ok(
      loaded.every((file) => /providers[^]*index\.js$/.test(file)),
      loaded.join(),
    )
  },

  async testing({ actingAs, apiKeyStoreSuite, authAttacks, authnTesting }) {
    const { memoryApiKeys } = require('fastify-authn/api-keys')
    for (const { run } of apiKeyStoreSuite((prefix) => memoryApiKeys({ prefix }))) await run()
    const app = require('fastify')()
    const userService = { findByUsername: (name) => ({ name }) }
    await app.register(authnTesting)
    await app.register(require('fastify-authn'), { userService, jwt: { secret } })
    app.get('/me', { config: { auth: true } }, ({ user }) => user)
    const me = await app.inject({ url: '/me', ...actingAs({ name: 'alice' }) })
    assert.deepEqual(me.json(), { name: 'alice' })
    assert.deepEqual((await authAttacks(app, { url: '/me', sub: 'alice' })).problems, [])
    await app.close()
  },

  async browser({ createSession }) {
    let kept = null
    globalThis.fetch = async (input, { headers } = {}) =>
      String(input.url ?? input).endsWith('/login')
        ? Response.json({ token: 'a.b.c', refreshToken: 'r', expiresIn: 300 })
        : Response.json(new Request(input, { headers }).headers.get('authorization'))
    const tokens = { get: () => kept, set: (token) => (kept = token) }
    const session = createSession({ url: 'https://api.example', tokens })
    await session.ready
    assert.equal((await session.logIn({ username: 'alice', password: 'x' })).ok, true)
    assert.equal(await (await session.fetch('/me')).json(), 'Bearer a.b.c')
    assert.deepEqual([session.loggedIn, kept], [true, 'r'])
    session.close()
  },

  async 'browser/passkeys'({ createPasskeys }) {
    const posted = []
    const post = async (route) => posted.push(route) && { ok: false, status: 429 }
    const passkeys = createPasskeys({ post })
    assert.equal(passkeys.isSupported, false)
    assert.equal((await passkeys.logIn()).status, 429)
    assert.deepEqual(posted, ['login/passkey/options'])
    assert.equal((await passkeys.autofill()).status, 0)
  },
}

/** Gives each store to a function: that of the memory, and those of the servers that the environment names. */
async function withStores([memory, redis, sql], work) {
  await work(memory({ prefix: 'shop' }).open('default'))
  if (REDIS_URL && redis !== null) {
    const client = new (require('ioredis').Redis)(REDIS_URL)
    await work(redis(client, { prefix: 'shop' }).open('default')).finally(() => client.disconnect())
  }
  if (DATABASE_URL) {
    const pool = new (require('pg').Pool)({ connectionString: DATABASE_URL })
    const query = (text, params) => pool.query(text, params)
    await work(sql({ query, prefix: 'shop' }).open('default')).finally(() => pool.end())
  }
}

const [entry, kind] = process.argv.slice(2)
if (entry === undefined) {
  const run = promisify(execFile)
  const { exports } = require('fastify-authn/package.json')
  const entries = Object.keys(exports).map((name) => name.replace(/^\.\//, ''))
  assert.deepEqual(entries.sort(), [...Object.keys(uses), 'package.json'].sort())
  for (const name of Object.keys(uses)) {
    for (const kind of ['esm', 'cjs']) {
      await run(process.execPath, ['--no-warnings', fileURLToPath(import.meta.url), name, kind])
    }
  }
} else {
  const name = entry === '.' ? 'fastify-authn' : `fastify-authn/${entry}`
  await uses[entry](kind === 'esm' ? await import(name) : require(name))
}
