import { notReady } from '../app/report.js'
import { listOf } from '../common/list-of.js'
import { withoutUndefined } from '../common/objects.js'
import { wrongOption } from '../errors/errors.js'
import { challengeSchemes, isBearer } from '../guard/challenges.js'
import { secureAddress } from '../http/address.js'
import { freeze } from '../tokens/engine.js'
import type { ResolvedResource } from './options.js'
import { routesOf } from './routes.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { ProtectedResourceMetadata } from '../../types/resource.js'

export { resolve, schema } from './options.js'

/** The scope of refresh tokens, which are between a client and the authorization server. */
const offline = 'offline_access'

type CheckRoutes = Parameters<NonNullable<Feature['checkRoutes']>>
type Routes = CheckRoutes[0]

/** The option `resource`: protected resource metadata (RFC 9728). */
export function create({
  root,
  log,
  resolved,
  options,
}: FeatureContext<ResolvedResource>): Feature {
  const { identifier, path, metadataUrl } = resolved
  const published: Parameters<typeof routesOf>[1] = { identifier, path }
  let document: ProtectedResourceMetadata | undefined
  return {
    name: 'resource',
    // Clients request these scopes with their first token.
    challenge: ({ scope }) => ({ ...(scope && { scope }), resource_metadata: metadataUrl }),
    routes: () => routesOf(root, published),
    checkRoutes(...found) {
      const [routes] = found
      for (const warning of warningsOf(resolved, ...found)) log.warn(`fastify-authn: ${warning}`)
      document = documentOf(resolved, options, routes)
      published.text = JSON.stringify(document)
    },
    api: {
      identifier,
      metadataUrl,
      metadata: () => document ?? notReady('app.authn.resource.metadata()'),
    },
  }
}

/** @throws ERR_AUTH_OPTION for a route without a mark at the address of the resource */
function warningsOf(
  { identifier, scopesSupported }: ResolvedResource,
  ...[routes, unmarked]: CheckRoutes
): string[] {
  const folded = (path: string): string => `${path}/`.replace('//', '/').toLowerCase()
  const address = folded(new URL(identifier).pathname)
  // A preflight has no credentials.
  const isOpen = ({ name, url }: CheckRoutes[1][number]): boolean =>
    folded(url) === address && !name.startsWith('OPTIONS /')
  const open = unmarked.find(isOpen)?.name
  if (open !== undefined) {
    wrongOption(
      `option "resource": found ${open} at the address of ${identifier} without a mark, so it would be open, expected config: { auth: true } there, or { auth: false } if it is public.`,
    )
  }
  const warnings = []
  // Parameters and wildcards may match anything.
  if (!routes.some(({ url }) => folded(url).startsWith(address) || /[:*]/.test(url))) {
    warnings.push(
      `option "resource": no protected route of this registration is at the path of ${identifier} or below it, so clients may be led to routes that need no token. Mark the routes there, or correct the identifier. Where a proxy changes paths, this means nothing.`,
    )
  }
  const asking = routes
    .filter(({ policy }) =>
      Object.values(policy.needs?.scope ?? {})
        .flat()
        .includes(offline),
    )
    .map(({ name }) => name)
  if (scopesSupported && scopesSupported.includes(offline)) asking.push('resource.scopesSupported')
  if (asking.length > 0) {
    warnings.push(
      `found the scope ${offline} (${listOf(asking)}), which all clients are then told to request. Leave it out: those that need refresh tokens request it by themselves.`,
    )
  }
  return warnings
}

/** @throws ERR_AUTH_OPTION where there is no authorization server */
function documentOf(
  resource: ResolvedResource,
  { issuers = {} }: ResolvedOptions,
  routes: Routes,
): ProtectedResourceMetadata {
  const { scopesSupported = scopesOf(routes) } = resource
  const all = Object.values(issuers).map(({ issuer }) => issuer)
  const { authorizationServers: servers = all.filter(isServer) } = resource
  if (servers.length === 0) {
    wrongOption(
      'option "resource.authorizationServers": found none (if it is left out, those of the "issuers" that are addresses), so clients could not find out where to get a token. Set it to the address of your authorization server, as in [\'https://id.example.com\'].',
    )
  }
  const document = withoutUndefined({
    resource: resource.identifier,
    authorization_servers: [...servers],
    scopes_supported:
      scopesSupported && scopesSupported.length > 0 ? [...scopesSupported] : undefined,
    bearer_methods_supported: ['header'] as const,
    resource_name: resource.name,
    resource_documentation: resource.documentation,
    resource_policy_uri: resource.policy,
    resource_tos_uri: resource.termsOfService,
  })
  freeze(document)
  return document
}

function isServer(issuer: string): boolean {
  return secureAddress(issuer) !== null && !issuer.includes('?')
}

/** The scopes in the marks of routes that accept Bearer, sorted. */
function scopesOf(routes: Routes): string[] {
  const names = routes.flatMap(({ policy: { members, needs }, isHidden }) => {
    if (isHidden || !members.flatMap(challengeSchemes).some(isBearer)) return []
    return Object.values(needs?.scope ?? {}).flat()
  })
  return [...new Set(names)].toSorted()
}
