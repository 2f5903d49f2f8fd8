import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors/errors.js'
import { pluginRouteOf } from '../http/plugin-route.js'
import { scopeMarkOf } from '../marks/mark.js'
import { registrationOf } from '../request/registration.js'
import { isAutomaticHead, isCorsPreflight, isWithin, urlsOf } from './fastify.js'
import { methodsOf, routeMark, type DeclaredRoute } from './routes.js'
import { constraintsText, printTable } from './table.js'
import type { AppRecord } from './app-record.js'
import type { Authn } from '../../types/authn.js'
import type { AuthnRoute } from '../../types/routes.js'

export function routeReport(
  record: AppRecord,
  scope: FastifyInstance,
): Pick<Authn, 'routes' | 'printRoutes'> {
  function routes(): AuthnRoute[] {
    if (!record.isReady) notReady('app.authn.routes()')
    return (
      record.routes
        .filter(({ server }) => isWithin(server, scope))
        .flatMap(rowsOf)
        // Rows are sorted by character codes and not by a language, so that a snapshot is the same on every machine.
        .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
    )
  }
  return { routes, printRoutes: () => printTable(routes(), scope.supportedMethods) }
}

export function notReady(method: string): never {
  throw new AuthnUsageError(
    'ERR_AUTH_REPORT',
    `${method}: the app is not ready, so routes and marks may still be missing. Call it after await app.ready(), or in an onReady hook that is added after the plugin.`,
  )
}

function rowsOf(route: DeclaredRoute): AuthnRoute[] {
  const { options, server, url } = route
  const policy = route.policy ?? null
  const isOptional = policy?.mode === true && policy.allowsAnonymous
  return urlsOf(options, url).map((each) => ({
    methods: methodsOf(options.method),
    url: each,
    constraints: { ...options.constraints },
    mode: isOptional ? 'optional' : (policy?.mode ?? false),
    scope: policy?.needs?.scope ?? null,
    role: policy?.needs?.role ?? null,
    mfa: policy?.needs?.mfa ?? false,
    fresh: policy?.needs?.fresh ?? null,
    authenticators: policy?.names ?? [],
    ...sourceOf(route),
    registration: registrationOf(server)?.name ?? '/',
    isAutomaticHead: isAutomaticHead(options),
    isLogin: /^login\b/.test(pluginRouteOf(options)?.kind ?? ''),
  }))
}

function sourceOf(route: DeclaredRoute): Pick<AuthnRoute, 'source' | 'sourcePrefix'> {
  const { options, server } = route
  if (routeMark(route) !== undefined) return { source: 'route', sourcePrefix: null }
  const scope = isCorsPreflight(options, server) ? undefined : scopeMarkOf(server)?.scope
  if (scope === undefined) return { source: 'none', sourcePrefix: null }
  const registration = registrationOf(scope)
  const isByPlugin = registration?.app === scope && registration.options.auth !== undefined
  return { source: isByPlugin ? 'plugin' : 'scope', sourcePrefix: scope.prefix }
}

function keyOf({ url, methods, constraints, registration }: AuthnRoute): string {
  return [url, methods.join(), constraintsText(constraints), registration].join('\u0000')
}
