import { membersOf } from '../authenticators/any-of.js'
import { listOf } from '../common/list-of.js'
import { wrongOption } from '../errors/errors.js'
import type { ResolvedApiKeys } from './options.js'
import { openStore, type StoreClient } from '../stores/store-client.js'
import { apiKeysApi } from './api.js'
import { apiKeyAuthenticator } from './authenticator.js'
import { tooMany } from '../http/plugin-route.js'
import { noLimit } from './key.js'
import { keyLookup } from './lookup.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { ApiKeys, ApiKeyStore } from '../../types/api-keys.js'

export { resolve, schema } from './options.js'

export interface ApiKeysTesting {
  readonly prefix: string
  readonly client: StoreClient<ApiKeyStore>
  readonly api: ApiKeys
}

/** The option `apiKeys`: long-lived credentials with scopes. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<ResolvedApiKeys>): Feature {
  const { options, resolved } = context
  const { prefix, store, header, cache, maxPerOwner, name, user } = resolved
  const { userService, authenticators } = options
  if (userService === undefined && user === undefined) {
    wrongOption(
      'option "apiKeys" is set, but "userService" is missing: it looks up the owners of keys. Set it, or apiKeys: { user(owner) { … } } for owners who do not log in.',
    )
  }
  if (Object.hasOwn(authenticators, 'apiKey')) {
    wrongOption(
      'options "apiKeys" and "authenticators.apiKey" are both set, and both would be "apiKey" in marks. Rename the authenticator.',
    )
  }
  const { client } = openStore(context, {
    option: 'apiKeys',
    factory: store,
    name,
    ifLocal:
      'fastify-authn keeps its API keys in the memory of this process: a restart invalidates all of them, and other processes do not know them. Set apiKeys: { store } to redisApiKeys or sqlApiKeys of fastify-authn/api-keys.',
    ifUnavailable:
      'The store of API keys is unavailable: requests with a key that is not cached are rejected until it is back',
    patience: 2,
  })
  const lookup = keyLookup(client, cache)
  const apiWith = (limit: number): ApiKeys =>
    apiKeysApi(prefix, limit, client, lookup.forget, context.registration)
  const authenticator = apiKeyAuthenticator(prefix, header, userService, user, lookup)
  const onPass: Feature['onPass'] = ({ headers }, reply) => {
    // RFC 9111 §3.5 keeps shared caches from storing only responses to requests with `Authorization`.
    if (header === undefined || !headers[header] || reply.hasHeader('cache-control')) return
    void reply.header('cache-control', 'private')
  }
  return {
    name: 'apiKeys',
    authenticators: { apiKey: authenticator },
    notAccepted: 'auth.api-key-not-accepted',
    notes: {
      responses: ({ policy }) =>
        options.throttle !== false &&
        policy &&
        membersOf(policy.authenticator).includes(authenticator)
          ? tooMany
          : {},
    },
    onPass,
    /** A key is meant for what its owner has chosen, and passes any mark without a scope. */
    checkRoutes(routes) {
      const names = routes.flatMap(({ name: route, policy: { needs, members } }) =>
        !needs?.scope && members.flatMap(membersOf).includes(authenticator) ? [route] : [],
      )
      if (names.length === 0) return
      context.app.log.warn(
        `fastify-authn: these routes accept API keys and require no scope, so every key may use them, also one without scopes: ${listOf(names)}. Add a scope to their marks, as in { use: 'apiKey', scope: 'notes:read' }.`,
      )
    },
    api: apiWith(maxPerOwner),
    stats: lookup.stats,
    testing: { prefix, client, api: apiWith(noLimit) } satisfies ApiKeysTesting,
  }
}
