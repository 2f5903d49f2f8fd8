import type { FastifyInstance } from 'fastify'
import { AuthnUsageError, wrongOption } from '../errors.js'
import { isThenable } from '../common/objects.js'
import { isAutomaticHead, isWithin, urlsOf } from './fastify.js'
import { markOf, methodsOf, routeMark, type DeclaredRoute } from './routes.js'
import { listOf, visible } from './table.js'
import type { AuditOptions } from '../../types/options.js'
import type { UndecidedRoute } from '../../types/routes.js'

/**
 * Stops the boot when an audited scope has routes without a mark, neither of their own nor of a scope around them, or
 * middleware that the app has not decided about.
 *
 * @param instances - every scope of the app
 * @throws ERR_AUTH_AUDIT that lists the routes, or names the middleware; ERR_AUTH_OPTION when `except` fails
 */
export function requireDecisions(
  routes: readonly DeclaredRoute[],
  instances: readonly FastifyInstance[],
  scope: FastifyInstance,
  { except, middleware }: AuditOptions,
): void {
  const open = routes.filter(
    (route) =>
      // The HEAD route that Fastify adds to a GET route has the mark of that route.
      route.get === undefined &&
      markOf(routeMark(route), route.server) === undefined &&
      isWithin(route.server, scope),
  )
  const offending = open
    .flatMap(describe)
    .filter((route) => except === undefined || !isExcepted(route, except))
  if (offending.length > 0) undecided(offending.map(nameOf).toSorted())
  if (!middleware) refuseMiddleware(instances, scope)
}

function describe(route: DeclaredRoute): UndecidedRoute[] {
  const { options, server } = route
  const { hide } = (options.schema ?? {}) as { hide?: unknown }
  return urlsOf(options, route.url).map((url) => ({
    methods: methodsOf(options.method),
    url,
    constraints: { ...options.constraints },
    isAutomaticHead: isAutomaticHead(options),
    prefix: server.prefix,
    isHidden: hide === true,
    // A copy without our own symbol properties.
    config: Object.fromEntries(Object.entries(options.config ?? {})),
  }))
}

function isExcepted(route: UndecidedRoute, except: NonNullable<AuditOptions['except']>): boolean {
  let answer: unknown
  try {
    answer = except(route)
  } catch (error) {
    wrongOption(
      `option "audit.except": it threw for ${nameOf(route)}, expected true or false (see the cause).`,
      error,
    )
  }
  if (typeof answer === 'boolean') return answer
  // `except` must not return a promise. Its rejection is caught here, as it would end the process.
  if (isThenable(answer)) Promise.resolve(answer).catch(() => undefined)
  const found = isThenable(answer) ? 'a promise' : answer === null ? 'null' : typeof answer
  return wrongOption(
    `option "audit.except": found ${found} for ${nameOf(route)}, expected true or false.`,
  )
}

function nameOf({ methods, url }: UndecidedRoute): string {
  return visible(`${methods.join(',')} ${url}`)
}

function undecided(names: readonly string[]): never {
  const count = names.length === 1 ? 'a route' : `${names.length} routes`
  throw new AuthnUsageError(
    'ERR_AUTH_AUDIT',
    `option "audit": found ${count} without a mark, expected a decision for each. Give each config: { auth: true }, or { auth: false } if everybody may call it; mark a scope around it; or except routes of other plugins with audit: { mode: 'explicit', except: (route) => … }.${listOf(names)}`,
  )
}

const engines = ['@fastify/express', '@fastify/middie']

/**
 * Middleware answers by the text of the URL, outside of all routes, so marks do not protect what it serves. The option
 * `audit.middleware: true` says that this is intended.
 */
function refuseMiddleware(scopes: readonly FastifyInstance[], audited: FastifyInstance): void {
  // Middleware of a scope around the audited one runs in the audited one too.
  const found = scopes
    .filter((scope) => isWithin(scope, audited) || isWithin(audited, scope))
    .map(engineOf)
    .find((engine) => engine !== undefined)
  if (found === undefined) return
  throw new AuthnUsageError(
    'ERR_AUTH_AUDIT',
    `option "audit": found ${found}, whose app.use(…) answers requests before any mark is looked at. Make sure that no middleware answers what only users may see, and then say so with audit: { mode: 'explicit', middleware: true }.`,
  )
}

/** The name of the plugin that adds middleware to a scope. An unknown plugin is recognised by what it decorates. */
function engineOf(scope: FastifyInstance): string | undefined {
  const known = engines.find((name) => scope.hasPlugin(name))
  return known ?? (scope.hasDecorator('use') ? 'the decorator "use" of another plugin' : undefined)
}
