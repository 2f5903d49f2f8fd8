import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { routeName } from '../guard.js'
import { registrationOf, type Plan, type Registration } from '../registration.js'
import { kRegistration, kScopeMark } from '../symbols.js'
import { isWithin, markOf, methodsOf, type KeptRoute } from './declared.js'
import { missedError } from './late.js'
import { constraintsText, printTable } from './table.js'
import type { Authn } from '../../types/authn.js'
import type { AuthnRoute } from '../../types/routes.js'

/** What a tree of Fastify instances knows for the report. */
export interface Ledger {
  /** Null until the app is ready. */
  kept: readonly KeptRoute[] | null
  /** URLs of our login routes. */
  readonly logins: ReadonlySet<string>
  /** Scopes in which the plugin is registered, in order. */
  readonly registered: ReadonlySet<FastifyInstance>
  /** Scopes whose mark is the option `auth` of the plugin. */
  readonly markedByPlugin: ReadonlySet<FastifyInstance>
  /** Whether routes were declared that nobody has told of. */
  readonly missedRoutes: boolean
}

/** What `app.authn` tells of routes. */
export type RouteReport = Pick<Authn, 'routes' | 'printRoutes'>

/** The report of the routes of a scope. Made at the call: apps that never ask pay nothing. */
export function routeReport(ledger: Ledger, scope: FastifyInstance): RouteReport {
  function routes(): AuthnRoute[] {
    const names = namesOf(ledger.registered)
    const rows = knownRoutes(ledger)
      .filter(({ server }) => isWithin(server, scope))
      .map((route) => rowOf(route, ledger, names))
    return sorted(rows)
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

/** What registrations are called: by the prefix of their scope, numbered where that is not enough. */
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
  const { server, method, url, constraints, isAutomaticHead } = route
  const methods = methodsOf(method)
  const plan = planOf(route)
  return {
    methods,
    url,
    constraints: { ...constraints },
    mode: modeOf(plan),
    authenticators: plan?.names ?? [],
    ...sourceOf(route, ledger),
    registration: names.get(ownerOf(server, kRegistration)) as string,
    isAutomaticHead,
    isLogin: methods.join() === 'POST' && isLogin(route, ledger),
  }
}

/** The plan of a route whose requests are judged. The routes of a scope have a registration: its own. */
function planOf({ server, mark: own, method, url }: KeptRoute): Plan | null {
  const mark = markOf(own, server)
  if (mark === undefined || mark === false) return null
  const plan = (registrationOf(server) as Registration).plan(mark, routeName(method, url))
  return plan.mode === false ? null : plan
}

function modeOf(plan: Plan | null): AuthnRoute['mode'] {
  if (plan === null) return false
  return plan.mode === true && plan.nobodyPasses ? 'optional' : plan.mode
}

function sourceOf(
  { mark, server }: KeptRoute,
  { markedByPlugin }: Ledger,
): Pick<AuthnRoute, 'source' | 'sourcePrefix'> {
  if (mark !== undefined) return { source: 'route', sourcePrefix: null }
  const scope = ownerOf(server, kScopeMark)
  if (scope === null) return { source: 'none', sourcePrefix: null }
  return { source: markedByPlugin.has(scope) ? 'plugin' : 'scope', sourcePrefix: scope.prefix }
}

/** The login route `/` in a scope with a prefix is two: see urlsOf. */
function isLogin({ url, server }: KeptRoute, { logins }: Ledger): boolean {
  return logins.has(url) || (url === server.prefix && logins.has(`${url}/`))
}

/** The scope from which a property is inherited. */
function ownerOf(server: FastifyInstance, key: symbol): FastifyInstance | null {
  let owner: object | null = server
  while (owner !== null && !Object.hasOwn(owner, key)) {
    owner = Object.getPrototypeOf(owner) as object | null
  }
  return owner as FastifyInstance | null
}

/** Sorts never by the rules of a language: a snapshot must be the same on every machine. */
function sorted(rows: readonly AuthnRoute[]): AuthnRoute[] {
  return rows
    .map((row) => ({ row, key: keyOf(row) }))
    .toSorted((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key)))
    .map(({ row }) => row)
}

function keyOf({ url, methods, constraints, registration }: AuthnRoute): string {
  return [url, methods.join(), constraintsText(constraints), registration].join('\u0000')
}
