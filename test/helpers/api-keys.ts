import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Test } from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import type {
  ApiKeys,
  ApiKeysOptions,
  ApiKeyStats,
  ApiKeyStore,
  AuthnOptions,
} from '../../lib/index.js'
import { appWith, standardOptions, type TestUserService } from './app.js'

export const prefix = 'acme'
/** What a test needs to issue a key. */
export const job = { owner: 'alice', name: 'job', scopes: [], expiresAt: null }

/** Options of the plugin with API keys. */
export function keyOptions(
  apiKeys: Partial<ApiKeysOptions> = {},
): AuthnOptions & { userService: TestUserService } {
  const store = memoryApiKeys({ prefix: 'shop' })
  return { ...standardOptions(), apiKeys: { prefix, store, ...apiKeys } }
}

export function keysOf({ authn }: Pick<FastifyInstance, 'authn'>): ApiKeys {
  return authn.apiKeys
}

/** What a handler says about its request. */
export function about({ user, extra }: FastifyRequest): object {
  const { name = null } = (user ?? {}) as { name?: unknown }
  return { user: name, apiKey: extra.apiKey ?? null }
}

/** An app with a route for each of `uses`, such as `/jwt-apiKey`, and `/notes`, which needs a scope. */
export async function keyApp(
  t: Test,
  options: AuthnOptions = keyOptions(),
  uses: readonly string[] = ['apiKey'],
) {
  const app = await appWith(t, options, (app) => {
    for (const path of uses) {
      app.get(`/${path}`, { config: { auth: { use: path.split('-') } } }, about)
    }
    app.get('/notes', { config: { auth: { use: 'apiKey', scope: 'notes:read' } } }, about)
    app.get('/editors', { config: { auth: { use: 'apiKey', role: 'editor' } } }, about)
    for (const mode of ['optional', 'try'] as const) {
      app.get(`/${mode}`, { config: { auth: { mode, use: 'apiKey' } } }, about)
    }
  })
  const keys = keysOf(app)
  const issued = await keys.issue({
    owner: 'alice',
    name: 'deploy job',
    scopes: ['notes:read'],
    expiresAt: null,
  })
  return {
    app,
    keys,
    /** A key of alice with the scope `notes:read`, which does not expire. */
    issued,
    stats: () => app.authn.stats().apiKeys as ApiKeyStats,
    get: (path: string, headers: Record<string, string | string[]> = {}) =>
      answered(app, path, headers),
  }
}

async function answered(
  app: FastifyInstance,
  url: string,
  headers: Record<string, string | string[]>,
) {
  const response = await app.inject({ url, headers: headers as Record<string, string> })
  return {
    status: response.statusCode,
    body: response.json<Record<string, unknown>>(),
    headers: response.headers,
    challenge: response.headers['www-authenticate'],
  }
}

/** A store that does what another one does, but for some of its methods. */
export function storeWith(
  methods: Partial<ApiKeyStore>,
  base: ApiKeyStore = memoryApiKeys({ prefix: 'shop' }).open('default'),
): ApiKeysOptions['store'] {
  return { prefix: 'shop', isLocal: true, open: () => ({ ...base, ...methods }) }
}
