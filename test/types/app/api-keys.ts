// API keys: nothing that must be chosen can be left out.
import type { FastifyInstance } from 'fastify'
import { authn, channels, type ApiKeys, type AuthnOptions, type RequestApiKey } from 'fastify-authn'
import { memoryApiKeys, redisApiKeys, sqlApiKeys } from 'fastify-authn/api-keys'
import type { ApiKeyStore, ApiKeyStoreFactory, IssuedApiKey } from 'fastify-authn/api-keys'

declare const app: FastifyInstance
declare const keys: ApiKeys
declare const client: { status: string }
declare const pool: {
  query(text: string, params?: unknown[]): Promise<{ rows: { [column: string]: unknown }[] }>
}

const store: ApiKeyStoreFactory = memoryApiKeys({ prefix: 'shop' })
export const factories: ApiKeyStoreFactory[] = [
  redisApiKeys(client, { prefix: 'shop' }),
  sqlApiKeys({ query: (text, params) => pool.query(text, params), prefix: 'shop' }),
]
memoryApiKeys()
memoryApiKeys({})
// @ts-expect-error: no prefix
redisApiKeys(client)
// @ts-expect-error: no prefix
sqlApiKeys({ query: (text, params) => pool.query(text, params) })

app.register(authn, {
  apiKeys: {
    prefix: 'acme',
    store,
    header: 'x-api-key',
    cache: { max: 1, ttl: 1 },
    maxPerOwner: 9,
    name: 'admin',
  },
})
app.register(authn, { apiKeys: { prefix: 'acme', store, cache: false } })
// @ts-expect-error: no prefix
export const noPrefix: AuthnOptions = { apiKeys: { store } }
// @ts-expect-error: no store
export const noStore: AuthnOptions = { apiKeys: { prefix: 'acme' } }
// @ts-expect-error: there are no defaults
export const noOptions: AuthnOptions = { apiKeys: true }

const key = { owner: 'alice', name: 'job', scopes: ['notes:read'], expiresAt: null }
void keys.issue(key).then((issued: IssuedApiKey) => [issued.key, issued.createdAt.getTime()])
void keys.issue({ ...key, owner: 7, expiresAt: new Date() })
// @ts-expect-error: no expiresAt
void keys.issue({ owner: 'alice', name: 'job', scopes: [] })
// @ts-expect-error: no scopes
void keys.issue({ owner: 'alice', name: 'job', expiresAt: null })
void keys.rotate('id', { overlap: 60, owner: 7, expiresAt: null }).then((next) => next?.key)
// @ts-expect-error: null where there is nothing to rotate
void keys.rotate('id', { overlap: 60, owner: null }).then((next) => next.key)
// @ts-expect-error: no owner
void keys.rotate('id', { overlap: 60 })
// @ts-expect-error: no overlap
void keys.rotate('id', { owner: 'alice' })
// @ts-expect-error: no overlap
void keys.rotate('id')
void keys.revoke('id', { owner: null }).then((isRevoked: boolean) => isRevoked)
void keys.revoke('id', { owner: 'alice' })
// @ts-expect-error: no owner
void keys.revoke('id')
// @ts-expect-error: no owner
void keys.revoke('id', {})
// @ts-expect-error: no owner
void keys.list()

app.get('/', { config: { auth: { use: 'apiKey', scope: 'notes:read' } } }, ({ extra }) => {
  const used: RequestApiKey | undefined = extra.apiKey
  // @ts-expect-error: frozen
  if (used !== undefined) used.scopes.push('admin')
  void app.authn.apiKeys.list('alice')
  return [used?.id, used?.owner, app.authn.stats().apiKeys?.lookups]
})
channels.apiKey.subscribe(({ action, id, owner, name, replacedBy }) => {
  const what: 'issued' | 'revoked' | 'rotated' = action
  return [what, id, owner, name, replacedBy]
})
channels.success.subscribe(({ apiKeyId }) => apiKeyId?.length)

/** A store of the app. */
export function storeOver(base: ApiKeyStore): ApiKeyStoreFactory {
  return { prefix: 'shop', isLocal: false, open: (name: string) => (name ? base : base) }
}
