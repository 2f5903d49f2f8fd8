import { notReady } from '../app/report.js'
import { withoutUndefined } from '../common/objects.js'
import { wrongOption } from '../errors/errors.js'
import { challengeSchemes, isBearer } from '../guard/challenges.js'
import { secureAddress } from '../http/address.js'
import { freeze } from '../tokens/engine.js'
import type { ResolvedResource } from './options.js'
import { routesOf } from './routes.js'
import type { Feature, FeatureContext, RoutePolicy } from '../feature.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { ProtectedResourceMetadata } from '../../types/resource.js'

export { resolve, schema } from './options.js'

type Context = FeatureContext<ResolvedResource>
type CheckRoutes = Parameters<NonNullable<Feature['checkRoutes']>>
type Routes = CheckRoutes[0]

/** The option `resource`: protected resource metadata (RFC 9728). */
export function create(context: Context): Feature {
  const { root, resolved, options } = context
  const { identifier, path, metadataUrl } = resolved
  const published: Parameters<typeof routesOf>[1] = { identifier, path }
  let document: ProtectedResourceMetadata | undefined
  return {
    name: 'resource',
    // Clients request these scopes with their first token.
    challenge: ({ scope }) => ({ ...(scope && { scope }), resource_metadata: metadataUrl }),
    routes: () => routesOf(root, published),
    checkRoutes(routes, unmarked) {
      checkRoutes(context, routes, unmarked)
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

function checkRoutes({ root, log, resolved }: Context, ...[routes, unmarked]: CheckRoutes): void {
  const { identifier, scopesSupported } = resolved
  const folded = (path: string): string => `${path}/`.replace('//', '/').toLowerCase()
  const { pathname } = new URL(identifier)
  const address = folded(pathname)
  const { caseSensitive } = { ...root.initialConfig, ...root.initialConfig.routerOptions }
  const any: Record<string, string> = { '/': '(/[^/]+)?', ':': '[^/]+', '*': '.*' }
  const partOf = (text: string): string => any[text.charAt(0)] ?? `\\${text}`
  // Patterns of parameters count as if they matched.
  const isAt = ({ url }: { url: string }): boolean => {
    const source = url.replace(/\/$/, '').replace(/\/:[^/]*\?$|:[^/]*|\*.*|[^\w/]/g, partOf)
    return new RegExp(`^${source}/?$`, caseSensitive === false ? 'i' : '').test(pathname)
  }
  // The router prefers paths to parameters, and both to wildcards.
  const rank = ({ url }: { url: string }): number => (url.includes('*') ? 2 : +url.includes(':'))
  for (const open of unmarked) {
    // A preflight has no credentials.
    if (!isAt(open) || open.name.startsWith('OPTIONS ')) continue
    if (routes.some((each) => isAt(each) && rank(each) < rank(open))) continue
    const found = `option "resource": found ${open.name} at the address of ${identifier} without a mark, so it would be open, expected config: { auth: true } there, or { auth: false } if it is public.`
    // Pages are often served by GET /*.
    if (rank(open) === 0 || !/^(GET,)?(GET|HEAD) /.test(open.name)) wrongOption(found)
    log.warn(`fastify-authn: ${found}`)
  }
  // Parameters and wildcards may match anything.
  const isBelow = ({ url }: { url: string }): boolean =>
    folded(url).startsWith(address) ||
    (/[:*]/.test(url) && address.startsWith(url.toLowerCase().replace(/[:*].*/, '')))
  if (!routes.some(isBelow)) {
    log.warn(
      `fastify-authn: option "resource": no protected route of this registration is at the path of ${identifier} or below it, so clients may be led to routes that need no token. Mark the routes there, or correct the identifier. Where a proxy changes paths, this means nothing.`,
    )
  }
  const isOffline = (scopes: readonly string[]): boolean => scopes.includes('offline_access')
  const marked = routes.find(({ policy: { needs } }) => isOffline(scopesIn(needs)))
  if (marked === undefined && !isOffline(scopesSupported || [])) return
  log.warn(
    `fastify-authn: ${marked?.name ?? 'option "resource.scopesSupported"'}: found the scope offline_access, which all clients are then told to request. Leave it out: those that need refresh tokens request it by themselves.`,
  )
}

function documentOf(
  resource: ResolvedResource,
  { issuers = {} }: ResolvedOptions,
  routes: Routes,
): ProtectedResourceMetadata {
  const { scopesSupported = scopesOf(routes) } = resource
  const all = Object.values(issuers).map(({ issuer }) => issuer)
  const isServer = (each: string): boolean => secureAddress(each) !== null && !each.includes('?')
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

/** The scopes in the marks of routes that accept Bearer, sorted. */
function scopesOf(routes: Routes): string[] {
  const names = routes.flatMap(({ policy: { members, needs }, isHidden }) => {
    if (isHidden || !members.flatMap(challengeSchemes).some(isBearer)) return []
    return scopesIn(needs)
  })
  return [...new Set(names)].toSorted()
}

function scopesIn(needs: RoutePolicy['needs']): string[] {
  return Object.values(needs?.scope ?? {}).flat()
}
