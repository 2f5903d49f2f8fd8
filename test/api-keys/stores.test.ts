// What every store of API keys has to do, and that the suite for it finds faults.
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { openEmbedded } from '../../examples/demo/embedded.js'
import { memoryApiKeys, redisApiKeys, sqlApiKeys } from '../../lib/api-keys/index.js'
import { apiKeysSchema } from '../../lib/api-keys/stores/sql.js'
import { apiKeyStoreSuite, type MakeStore } from '../../lib/testing/index.js'
import { postgresServer } from '../helpers/postgres-server.js'
import { unlessFound } from '../helpers/programs.js'
import { redisServer } from '../helpers/redis-server.js'
import type { ApiKeyStore, ApiKeyStoreFactory, StoredApiKey } from '../../types/api-keys.js'

const schema = ['suite_one', 'suite_two'].map(apiKeysSchema).join('\n')

/** The suite, and that keys are deleted 30 days after their end, when the next one is created. */
async function contract(t: Test, make: MakeStore<ApiKeyStoreFactory>): Promise<void> {
  for (const { name, run } of apiKeyStoreSuite(make)) await t.test(name, run)
  const store = (await make('suite_one')).open('old')
  const now = Date.now() / 1000
  const key = (id: string, expiresAt: number | null): StoredApiKey => ({
    ...{ id, digest: 'x', owner: 'alice', ownerType: 'string', name: 'job', scopes: [] },
    ...{ createdAt: now - 4e6, expiresAt, lastUsedAt: null, revokedAt: null, replacedBy: null },
  })
  await store.create(key('expired', now - 2_592_001))
  await store.create(key('revoked', null))
  await store.revoke('revoked', now - 2_592_001)
  await store.create({ ...key('new', null), createdAt: now })
  const left = (await store.list('alice')).map(({ id }) => id)
  t.strictSame([left, await store.find('expired')], [['new'], null], 'deleted after 30 days')
}

t.test('memory', (t) => contract(t, (prefix) => memoryApiKeys({ prefix })))

t.test('PGlite', async (t) => {
  const db = await openEmbedded()
  t.teardown(() => db.close())
  await db.exec(schema)
  await contract(t, (prefix) =>
    sqlApiKeys({ query: (text, params) => db.query(text, params), prefix }),
  )
})

t.test('PostgreSQL', { skip: unlessFound('PostgreSQL') }, async (t) => {
  const server = await postgresServer(t)
  await server.pool().query(schema)
  await contract(t, (prefix) => {
    const pool = server.pool()
    return sqlApiKeys({ query: (text, params) => pool.query(text, params), prefix })
  })
})

t.test('Redis', { skip: unlessFound('Redis') }, async (t) => {
  const server = await redisServer(t)
  await contract(t, (prefix) => {
    const client = new Redis(server.port, '127.0.0.1')
    t.teardown(() => client.disconnect())
    return redisApiKeys(client, { prefix })
  })
})
