import { wrongOption } from '../errors.js'
import { resolveApiKeys } from '../options/resolve.js'
import { openStore } from '../stores/store-access.js'
import { apiKeysApi } from './api.js'
import { apiKeyAuthenticator } from './authenticator.js'
import { keyLookup } from './lookup.js'
import type { FeatureContext, OnPass } from '../feature.js'
import type { ApiKeysOptions } from '../../types/api-keys.js'

export type ApiKeysFeature = ReturnType<typeof createFeature>

/** The option `apiKeys`: long-lived credentials with scopes. @throws ERR_AUTH_OPTION */
export function createFeature(context: FeatureContext) {
  const { options } = context
  const resolved = resolveApiKeys(options.apiKeys as ApiKeysOptions)
  const { prefix, store, header, cache, maxPerOwner, name } = resolved
  const { userService, authenticators } = options
  if (userService === undefined) {
    wrongOption(
      'option "apiKeys" is set, but "userService" is missing: it looks up the owners of keys.',
    )
  }
  if (Object.hasOwn(authenticators, 'apiKey')) {
    wrongOption(
      'options "apiKeys" and "authenticators.apiKey" are both set, and both would be "apiKey" in marks. Rename the authenticator.',
    )
  }
  const { access } = openStore(context, {
    option: 'apiKeys',
    factory: store,
    name,
    ifLocal:
      'fastify-authn keeps its API keys in the memory of this process: a restart invalidates all of them, and other processes do not know them. Set apiKeys: { store } to redisApiKeys or sqlApiKeys of fastify-authn/api-keys.',
    ifUnavailable:
      'The store of API keys is unavailable: requests with a key that is not cached are rejected until it is back',
    patience: 2,
  })
  const lookup = keyLookup(access, cache)
  const onPass: OnPass = ({ headers }, reply) => {
    // RFC 9111 §3.5 keeps shared caches from storing only responses to requests with `Authorization`.
    if (header === undefined || !headers[header] || reply.hasHeader('cache-control')) return
    void reply.header('cache-control', 'private')
  }
  return {
    name: 'apiKeys',
    authenticators: { apiKey: apiKeyAuthenticator(prefix, header, userService, lookup) },
    notAccepted: 'auth.api-key-not-accepted' as const,
    countsFailures: true,
    onPass,
    api: apiKeysApi(prefix, maxPerOwner, access, lookup.forget),
    stats: lookup.stats,
    // For the test kit.
    prefix,
    access,
  }
}
