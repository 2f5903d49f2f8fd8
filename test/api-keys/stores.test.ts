// program: sql
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { openEmbedded } from '../../examples/demo/embedded.js'
import { memoryApiKeys, redisApiKeys, sqlApiKeys } from '../../lib/api-keys/index.js'
import { newKey } from '../../lib/api-keys/key.js'
import { apiKeysSchema } from '../../lib/api-keys/stores/sql.js'
import { apiKeyStoreSuite, type MakeStore } from '../../lib/testing/index.js'
import { job } from '../helpers/api-keys.js'
import { postgresServer } from '../helpers/postgres-server.js'
import { unlessFound } from '../helpers/programs.js'
import { redisServer } from '../helpers/redis-server.js'
import { everyFaultIsFound } from '../helpers/store-faults.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../types/api-keys.js'

const noRedis = unlessFound('Redis')
const noPostgres = unlessFound('PostgreSQL')
const schema = ['suite_one', 'suite_two'].map(apiKeysSchema).join('\n')

/** The suite, and that keys are deleted 30 days after their end, when the next one is created. */
async function contract(t: Test, make: MakeStore<ApiKeyStoreFactory>): Promise<void> {
  for (const { name, run } of apiKeyStoreSuite(make)) await t.test(name, run)
  const store = (await make('suite_one')).open('old')
  const now = Date.now() / 1000
  const key = (id: string, expiresAt: number | null): StoredApiKey => ({
    ...newKey('acme', job).stored,
    id,
    expiresAt,
    createdAt: now - 4e6,
  })
  await store.create(key('expired', now - 2_592_001), 9)
  await store.create(key('revoked', null), 9)
  await store.revoke('revoked', now - 2_592_001, null)
  await store.create({ ...key('new', null), createdAt: now }, 9)
  const left = (await store.list('alice')).map(({ id }) => id)
  t.strictSame([left, await store.find('expired')], [['new'], null], 'deleted after 30 days')
}

t.test('memoryApiKeys() passes apiKeyStoreSuite()', (t) =>
  contract(t, (prefix) => memoryApiKeys({ prefix })),
)

t.test('sqlApiKeys() passes apiKeyStoreSuite() in PGlite', async (t) => {
  const db = await openEmbedded()
  t.teardown(() => db.close())
  await db.exec(schema)
  await contract(t, (prefix) =>
    sqlApiKeys({ query: (text, params) => db.query(text, params), prefix }),
  )
})

t.test('sqlApiKeys() passes apiKeyStoreSuite() in PostgreSQL', { skip: noPostgres }, async (t) => {
  const server = await postgresServer(t)
  await server.pool().query(schema)
  await contract(t, (prefix) => {
    const pool = server.pool()
    return sqlApiKeys({ query: (text, params) => pool.query(text, params), prefix })
  })
})

t.test('redisApiKeys() passes apiKeyStoreSuite()', { skip: noRedis }, async (t) => {
  const server = await redisServer(t)
  await contract(t, (prefix) => {
    const client = new Redis(server.port, '127.0.0.1')
    t.teardown(() => client.disconnect())
    return redisApiKeys(client, { prefix })
  })
})

t.test('redisApiKeys() forgets an owner with the last key', { skip: noRedis }, async (t) => {
  const client = new Redis((await redisServer(t)).port, '127.0.0.1')
  t.teardown(() => client.disconnect())
  const store = redisApiKeys(client, { prefix: 'shop' }).open('default')
  const days = async (): Promise<number> => {
    const names = await client.keys('*')
    t.notMatch(names.join(), 'alice', 'its name does not tell the owner')
    const index = names.find((name) => name.includes(':api-keys:')) as string
    return (await client.ttl(index)) / 86_400
  }
  const issue = async (expiresAt: Date | null): Promise<string> => {
    const { stored } = newKey('acme', { ...job, expiresAt })
    await store.create(stored, 100)
    return stored.id
  }
  const inDays = (count: number): Date => new Date(Date.now() + count * 86_400_000)
  await issue(inDays(10))
  t.equal(Math.round(await days()), 40)
  const id = await issue(null)
  await issue(inDays(5))
  t.ok((await days()) < 0, 'it does not expire before the key does')
  await store.revoke(id, Date.now() / 1000, null)
  t.equal(Math.round(await days()), 40)
})

type Change = (store: ApiKeyStore) => Partial<ApiKeyStore>

/** Stores with one fault each, and the case that finds it. */
const faulty: Record<string, [change: Change, caseName: RegExp]> = {}
const fault = (title: string, caseName: RegExp, change: Change): unknown =>
  (faulty[title] = [change, caseName])
fault('times without a fraction', /as it was given/, (store) => ({
  create: (key, limit) => store.create({ ...key, createdAt: Math.floor(key.createdAt) }, limit),
}))
fault('an owner that is a number again', /as it was given/, (store) => ({
  create: (key, limit) => store.create({ ...key, ownerType: 'string' }, limit),
}))
fault('an id that is taken', /its id is taken/, (store) => ({
  create: (key, limit) => store.create(key, limit).catch(() => true),
}))
fault('owners in lower case', /owners are told apart/, (store) => ({
  create: (key, limit) => store.create({ ...key, owner: key.owner.toLowerCase() }, limit),
  list: (owner) => store.list(owner.toLowerCase()),
}))
fault('the oldest first', /newest first/, (store) => ({
  list: async (owner) => [...(await store.list(owner))].toReversed(),
}))
fault('live keys only', /30 days/, (store) => ({
  list: async (owner) => (await store.list(owner)).filter(({ revokedAt }) => !revokedAt),
}))
fault('every use', /every 60 seconds/, (store) => ({
  touch: (id, at) => store.touch(id, at + 1e6).then(() => store.touch(id, at + 1e7)),
}))
fault('no use', /every 60 seconds/, () => ({ touch: async () => undefined }))
fault('keys of any owner are revoked', /of another owner/, (store) => ({
  revoke: (id, at) => store.revoke(id, at, null),
}))
fault('keys of any owner are replaced', /does not change/, (store) => ({
  replace: (id, next, until, _, limit) => store.replace(id, next, until, null, limit),
}))
fault('a later end', /or sooner/, (store) => ({
  replace: (id, next, until, owner, limit) => store.replace(id, next, until + 60, owner, limit),
}))
fault('expired keys are replaced', /does not change/, (store) => ({
  replace: (id, next, until, owner, limit) =>
    store
      .replace(id, { ...next, createdAt: 0 }, until, owner, limit)
      .then(async (isDone) => isDone && (await store.find(next.id)) !== null),
}))
fault('a read, and then a write: revoke', /200 calls/, (store) => ({
  async revoke(id, at, owner) {
    const isLive = (await store.find(id))?.revokedAt === null
    await store.revoke(id, at, owner)
    return isLive && (owner ?? (await store.find(id))?.owner) === (await store.find(id))?.owner
  },
}))
fault('a read, and then a write: replace', /200 calls/, (store) => ({
  async replace(id, next, until, owner, limit) {
    const isLive = (await store.find(id))?.replacedBy === null
    if (await store.replace(id, next, until, owner, limit)) return true
    if (isLive && owner === null) await store.create(next, limit)
    return false
  },
}))
fault('a count, and then a write', /200 keys/, (store) => ({
  async create(key, limit) {
    const keys = await store.list(key.owner)
    const valid = keys.filter(({ revokedAt, expiresAt }) => !(revokedAt ?? expiresAt))
    return valid.length < limit && store.create(key, 1e6)
  },
}))
fault('revoked keys count', /200 keys/, (store) => ({
  create: async (key, limit) =>
    (await store.list(key.owner)).length < limit && store.create(key, limit),
}))
fault('no replacement at the limit', /whatever the limit/, (store) => ({
  replace: async (id, next, until, owner, limit) =>
    (await store.list(next.owner)).length < limit && store.replace(id, next, until, owner, limit),
}))
fault('replacements without a limit', /twice as many/, (store) => ({
  replace: (id, next, until, owner) => store.replace(id, next, until, owner, 1e6),
}))

t.test('apiKeyStoreSuite() finds every fault of a store', async (t) => {
  await everyFaultIsFound(t, faulty, (change) =>
    apiKeyStoreSuite((prefix) => {
      const factory = memoryApiKeys({ prefix })
      const open = (name: string) => ({ ...factory.open(name), ...change(factory.open(name)) })
      return { ...factory, open }
    }),
  )
  const one = memoryApiKeys({ prefix: 'one' })
  const cases = apiKeyStoreSuite((prefix) => ({ ...one, prefix, open: () => one.open('x') }))
  const apart = cases.find(({ name }) => name.startsWith('registrations'))
  await t.rejects(async () => apart?.run(), 'names and prefixes')
})
