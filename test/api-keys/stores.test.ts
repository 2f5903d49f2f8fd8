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
import type { ApiKeyStoreFactory, StoredApiKey } from '../../types/api-keys.js'

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
