import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { kScopeMark } from '../marks/inherit.js'
import { kRegistration } from '../registration.js'
import { isWithin, ownerOf } from './fastify.js'
import { methodsOf, missedError, type KeptRoute } from './routes.js'
import { constraintsText, printTable } from './table.js'
import type { Published } from './published.js'
import type { Authn } from '../../types/authn.js'
import type { AuthnRoute } from '../../types/routes.js'

/** What the report needs to know of a tree of Fastify instances. */
export interface Ledger {
  /** The routes; null until the app is ready. */
  kept: readonly KeptRoute[] | null
  /** URLs of our login routes. */
  readonly logins: ReadonlySet<string>
  /** Paths at which keys are published. Their routes belong to the root, and count for the registration of the keys. */
  readonly published: Map<string, Published>
  /** Scopes in which the plugin is registered, in order. */
  readonly registered: ReadonlySet<FastifyInstance>
  /** Scopes whose mark comes from the option `auth` of the plugin. */
  readonly markedByPlugin: ReadonlySet<FastifyInstance>
  /** Whether routes were declared before we could listen. */
  readonly missedRoutes: boolean
}

/** The part of `app.authn` that is about routes. */
export type RouteReport = Pick<Authn, 'routes' | 'printRoutes'>

/** The report of the routes of a scope. It is made when it is asked for, so that other apps do not pay for it. */
export function routeReport(ledger: Ledger, scope: FastifyInstance): RouteReport {
  function routes(): AuthnRoute[] {
    const names = namesOf(ledger.registered)
    const rows = knownRoutes(ledger)
      .filter((route) =>
        [route.server, publisherOf(route, ledger) ?? []]
          .flat()
          .some((each) => isWithin(each, scope)),
      )
      .map((route) => rowOf(route, ledger, names))
    return rows.toSorted(byKey)
  }
  return { routes, printRoutes: () => printTable(routes(), scope.supportedMethods) }
}

/** @throws ERR_AUTH_REPORT before the app is ready, or when not every route is known */
function knownRoutes({ kept, missedRoutes }: Ledger): readonly KeptRoute[] {
  if (missedRoutes) throw missedError('ERR_AUTH_REPORT', 'app.authn.routes()')
  if (kept !== null) return kept
  throw new AuthnUsageError(
    'ERR_AUTH_REPORT',
    'app.authn.routes(): the app is not ready, so routes and marks may still be missing. Call it after await app.ready(), or in an onReady hook that is added after the plugin.',
  )
}

/** Names registrations by the prefix of their scope, with a number where several have the same prefix. */
function namesOf(registered: ReadonlySet<FastifyInstance>): Map<unknown, string> {
  const used = new Map<string, number>()
  const names = new Map<unknown, string>()
  for (const scope of registered) {
    const name = scope.prefix || '/'
    const count = (used.get(name) ?? 0) + 1
    used.set(name, count)
    names.set(scope, count === 1 ? name : `${name} (${count})`)
  }
  return names
}

function rowOf(route: KeptRoute, ledger: Ledger, names: ReadonlyMap<unknown, string>): AuthnRoute {
  const { server, method, url, constraints, isAutomaticHead, plan } = route
  const methods = methodsOf(method)
  return {
    methods,
    url,
    constraints: { ...constraints },
    mode: modeOf(plan),
    scope: structuredClone(plan?.needs?.scope ?? null),
    role: structuredClone(plan?.needs?.role ?? null),
    authenticators: plan?.names ?? [],
    ...sourceOf(route, ledger),
    registration: names.get(publisherOf(route, ledger) ?? ownerOf(server, kRegistration)) as string,
    isAutomaticHead,
    isLogin: methods.join() === 'POST' && isLogin(route, ledger),
  }
}

/** The scope of the registration whose keys a route publishes; null for every other route. */
function publisherOf({ method, url, server }: KeptRoute, ledger: Ledger): FastifyInstance | null {
  const isOurs = server.prefix === '' && ['GET', 'HEAD'].includes(methodsOf(method).join())
  return (isOurs && ledger.published.get(url)?.scope) || null
}

function modeOf(plan: KeptRoute['plan']): AuthnRoute['mode'] {
  if (plan === null) return false
  return plan.mode === true && plan.nobodyPasses ? 'optional' : plan.mode
}

function sourceOf(
  { mark, server, isPreflight }: KeptRoute,
  { markedByPlugin }: Ledger,
): Pick<AuthnRoute, 'source' | 'sourcePrefix'> {
  if (mark !== undefined) return { source: 'route', sourcePrefix: null }
  const scope = isPreflight ? null : ownerOf(server, kScopeMark)
  if (scope === null) return { source: 'none', sourcePrefix: null }
  return { source: markedByPlugin.has(scope) ? 'plugin' : 'scope', sourcePrefix: scope.prefix }
}

/** Whether a route is a login route. The path `/` in a scope with a prefix makes two of them: see urlsOf. */
function isLogin({ url, server }: KeptRoute, { logins }: Ledger): boolean {
  return logins.has(url) || (url === server.prefix && logins.has(`${url}/`))
}

/** Sorts by character codes and not by a language, so that a snapshot is the same on every machine. */
function byKey(one: AuthnRoute, other: AuthnRoute): number {
  const [first, second] = [keyOf(one), keyOf(other)]
  return first < second ? -1 : Number(first > second)
}

function keyOf({ url, methods, constraints, registration }: AuthnRoute): string {
  return [url, methods.join(), constraintsText(constraints), registration].join('\u0000')
}
