import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { redisApiKeys, sqlApiKeys } from '../../lib/api-keys/index.js'
import { authn, type ApiKeyStoreFactory } from '../../lib/index.js'
import { keysOf, prefix } from './api-keys.js'
import { serve } from './processes.js'

const { STORE_KIND = '', STORE_URL = '' } = process.env

const stores: Record<string, () => ApiKeyStoreFactory> = {
  Redis() {
    const client = new Redis(STORE_URL, { retryStrategy: () => 50 })
    client.on('error', () => undefined)
    return redisApiKeys(client, { prefix: 'shop' })
  },
  PostgreSQL() {
    const pool = new Pool({ connectionString: STORE_URL, connectionTimeoutMillis: 1000 })
    pool.on('error', () => undefined)
    return sqlApiKeys({ query: (text, params) => pool.query(text, params), prefix: 'shop' })
  },
}

/**
 * A process of an app with API keys: started by api-keys/processes.test.ts, to which it sends its port. Its routes
 * for keys are open, so that the tests need no token. It ends with its parent.
 */
async function main(): Promise<void> {
  const app = Fastify({ forceCloseConnections: true })
  await app.register(authn, {
    userService: { findByUsername: (name) => (name === 'alice' ? { name } : null) },
    apiKeys: { prefix, store: stores[STORE_KIND]?.() as ApiKeyStoreFactory },
  })
  type Id = { Params: { id: string } }
  const common = { owner: 'alice', expiresAt: null }
  app.get('/me', { config: { auth: { use: 'apiKey' } } }, ({ extra }) => extra.apiKey?.id)
  app.post('/keys', () => keysOf(app).issue({ ...common, name: 'job', scopes: ['notes:read'] }))
  app.get('/keys', () => keysOf(app).list('alice'))
  app.post<Id>('/keys/:id/rotate', async ({ params }, reply) => {
    const issued = await keysOf(app).rotate(params.id, { owner: null, overlap: 60 })
    return reply.code(issued === null ? 404 : 200).send(issued ?? {})
  })
  app.post<Id>('/keys/:id/revoke', async ({ params }, reply) => {
    return reply.code((await keysOf(app).revoke(params.id, { owner: null })) ? 200 : 404).send({})
  })
  await serve(app)
}

void main()
