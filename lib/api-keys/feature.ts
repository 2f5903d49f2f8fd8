import type { FastifyRequest } from 'fastify'
import { kit } from '../common/kit.js'
import { isProduction } from '../common/production.js'
import { wrongOption } from '../errors.js'
import { resolveApiKeys } from '../options/resolve.js'
import { StoreAccess } from '../stores/store-access.js'
import { apiKeysApi } from './api.js'
import { apiKeyAuthenticator } from './authenticator.js'
import { KeyLookup } from './lookup.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { ApiKeysOptions, ApiKeyStore } from '../../types/api-keys.js'

/** Seconds that a call of the store may take. */
const storeTimeout = 2

/** What is known of the keys of a registration, by its scope. */
interface Opened {
  /** The prefix and the name under which the store has them. */
  readonly place: string
  readonly prefix: string
  ask: StoreAccess<ApiKeyStore>['ask']
}

const opened = new WeakMap<object, Opened>()

kit.apiKeysOf = (app) => opened.get(app)

/**
 * The option `apiKeys`: long-lived credentials with scopes.
 *
 * @throws ERR_AUTH_OPTION
 */
export function createFeature({ app, options }: FeatureContext): Feature {
  const { prefix, store, header, cache, name } = resolveApiKeys(options.apiKeys as ApiKeysOptions)
  const { userService, authenticators } = options
  if (userService === undefined) {
    wrongOption(
      'option "apiKeys" is set, but "userService" is missing, which finds the owners of keys.',
    )
  }
  if (Object.hasOwn(authenticators, 'apiKey')) {
    wrongOption(
      'options "apiKeys" and "authenticators.apiKey" are both set, and both would be "apiKey" in marks. Rename the authenticator.',
    )
  }
  if (store.isLocal && isProduction()) app.log.warn(lostKeys)
  const access = new StoreAccess(store.open(name), app.log, failing, storeTimeout)
  const lookup = new KeyLookup(access, prefix, cache)
  const place = JSON.stringify([store.prefix, name])
  const ask: Opened['ask'] = (call) => access.ask(call)
  opened.set(app, { place, prefix, ask })
  /** Requests whose key came in the header of the app's choice. */
  const byHeader = new WeakSet<FastifyRequest>()
  return {
    name: 'apiKeys',
    authenticators: {
      apiKey: apiKeyAuthenticator({ prefix, header, userService }, lookup, byHeader),
    },
    countsFailures: true,
    onPass(request, reply) {
      // RFC 9111 §3.5 keeps shared caches from storing only responses to requests with `Authorization`.
      if (!byHeader.has(request) || reply.hasHeader('cache-control')) return
      void reply.header('cache-control', 'private')
    },
    api: apiKeysApi(prefix, { ask, forget: (id) => lookup.forget(id) }),
    check(registration, all) {
      const isSame = all.some(
        (other) => other !== registration && opened.get(other.app)?.place === place,
      )
      if (!isSame) return
      wrongOption(
        `option "apiKeys.name": found ${JSON.stringify(name)} for two registrations, with the store prefix ${JSON.stringify(store.prefix)} for both, so that alice of the one would be alice of the other. Give each a name of its own, as in apiKeys: { name: 'admin' }.`,
      )
    },
    stats: () => ({
      lookups: lookup.lookups,
      hits: lookup.hits,
      size: lookup.size,
      storeFailures: access.failures,
    }),
  }
}

const failing =
  'The store of API keys is unavailable: requests with a key that is not cached are rejected until it is back'

const lostKeys =
  'fastify-authn keeps its API keys in the memory of this process: a restart invalidates all of them, and other processes do not know them. Set apiKeys: { store } to redisApiKeys or sqlApiKeys of fastify-authn/api-keys.'
