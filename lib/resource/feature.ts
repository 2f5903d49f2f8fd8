import { challengeSchemes, isBearer } from '../guard/challenges.js'
import { withoutUndefined } from '../common/objects.js'
import { AuthnUsageError, wrongOption } from '../errors/errors.js'
import { secureAddress } from '../http/address.js'
import { freeze } from '../tokens/engine.js'
import type { ResolvedResource } from './options.js'
import { routesOf, type Published } from './routes.js'
import type { CheckedRoute, Feature, FeatureContext } from '../feature.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { ProtectedResourceMetadata } from '../../types/resource.js'

export { resolve, schema } from './options.js'

/** The option `resource`: protected resource metadata (RFC 9728). @throws ERR_AUTH_OPTION */
export function create({ root, resolved, options }: FeatureContext<ResolvedResource>): Feature {
  const { identifier, path, metadataUrl } = resolved
  const published: Published = { identifier, path, text: '' }
  let document: ProtectedResourceMetadata | undefined
  return {
    name: 'resource',
    challenge: ({ scope }) => ({
      // Clients request these scopes with their first token.
      ...(scope !== null && { scope }),
      resource_metadata: metadataUrl,
    }),
    routes: () => {
      serversOf(resolved, options)
      return routesOf(root, published)
    },
    checkRoutes(routes) {
      document = documentOf(resolved, serversOf(resolved, options), routes)
      published.text = JSON.stringify(document)
    },
    api: {
      identifier,
      metadataUrl,
      metadata: () => document ?? notReady(),
    },
  }
}

function notReady(): never {
  throw new AuthnUsageError(
    'ERR_AUTH_REPORT',
    'app.authn.resource.metadata(): the app is not ready, so the scopes of routes may still be missing. Call it after await app.ready(), or in an onReady hook that is added after the plugin.',
  )
}

/** @throws ERR_AUTH_OPTION for none */
function serversOf(
  { authorizationServers }: ResolvedResource,
  { issuers = {} }: ResolvedOptions,
): readonly string[] {
  if (authorizationServers !== undefined) return authorizationServers
  const servers = Object.values(issuers)
    .map(({ issuer }) => issuer)
    .filter((issuer) => secureAddress(issuer) !== null && !/[?#]/.test(issuer))
  if (servers.length > 0) return servers
  return wrongOption(
    'option "resource.authorizationServers": found nothing, and none of the "issuers" is an address, so clients could not find out where to get a token. Set it to the address of your authorization server, as in [\'https://id.example.com\'].',
  )
}

function documentOf(
  resource: ResolvedResource,
  servers: readonly string[],
  routes: readonly CheckedRoute[],
): ProtectedResourceMetadata {
  const { identifier, scopesSupported = scopesOf(routes) } = resource
  const hasScopes = scopesSupported !== false && scopesSupported.length > 0
  const document = withoutUndefined({
    resource: identifier,
    authorization_servers: [...servers],
    scopes_supported: hasScopes ? [...scopesSupported] : undefined,
    bearer_methods_supported: ['header'] as const,
    resource_name: resource.name,
    resource_documentation: resource.documentation,
    resource_policy_uri: resource.policy,
    resource_tos_uri: resource.termsOfService,
  })
  freeze(document)
  return document
}

/** The scopes in the marks of routes that accept Bearer, sorted. */
function scopesOf(routes: readonly CheckedRoute[]): string[] {
  const names = routes.flatMap(({ policy: { members, needs }, isHidden }) => {
    if (isHidden || !members.flatMap(challengeSchemes).some(isBearer)) return []
    return Object.values(needs?.scope ?? {}).flat()
  })
  return [...new Set(names)].toSorted()
}
