import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors/errors.js'
import { isAutomaticHead, isCorsPreflight, isWithin, urlsOf } from './fastify.js'
import { isHidden, markOf, methodsOf, type DeclaredRoute } from './routes.js'
import { listOf } from '../common/list-of.js'
import { withoutControlCharacters } from './table.js'
import type { AppRecord } from './app-record.js'
import type { RequireMarksOptions } from '../../types/options.js'
import type { UndecidedRoute } from '../../types/routes.js'

/** Rejects routes without a mark, own or inherited, and middleware unless it is allowed. @throws ERR_AUTH_AUDIT */
export function requireMarks(
  { routes, instances }: AppRecord,
  scope: FastifyInstance,
  { except, middleware }: RequireMarksOptions,
): void {
  const undecided = routes
    .filter((route) => markOf(route) === undefined && isWithin(route.server, scope))
    // A HEAD route that Fastify has added has the mark of its GET route.
    .filter((route) => route.get === undefined && !isCorsPreflight(route.options, route.server))
    .flatMap(describe)
    .filter((route) => except?.(route) !== true)
    .map(({ methods, url }) => withoutControlCharacters(`${methods.join(',')} ${url}`))
    .toSorted()
  if (undecided.length > 0) {
    throw new AuthnUsageError(
      'ERR_AUTH_AUDIT',
      `option "requireMarks": found ${undecided.length} routes without a mark, expected one for each. Give each config: { auth: true }, or { auth: false } if it is public; mark a scope around it; or except routes of other plugins with requireMarks: { except: (route) => … }.\n  ${listOf(undecided, '\n  ')}`,
    )
  }
  if (!middleware) rejectMiddleware(instances, scope)
}

function describe(route: DeclaredRoute): UndecidedRoute[] {
  const { options, server, url } = route
  return urlsOf(options, url).map((url) => ({
    methods: methodsOf(options.method),
    url,
    constraints: { ...options.constraints },
    isAutomaticHead: isAutomaticHead(options),
    prefix: server.prefix,
    isHidden: isHidden(route),
    config: { ...options.config },
  }))
}

/** Middleware answers by the URL, outside of all routes, so marks do not protect what it serves. */
function rejectMiddleware(instances: readonly FastifyInstance[], scope: FastifyInstance): void {
  const engines = ['@fastify/express', '@fastify/middie']
  // Middleware of a scope around this one runs in this one too.
  const found = instances
    .filter((each) => isWithin(each, scope) || isWithin(scope, each))
    .flatMap((each) => engines.filter((name) => each.hasPlugin(name)))[0]
  if (found === undefined) return
  throw new AuthnUsageError(
    'ERR_AUTH_AUDIT',
    `option "requireMarks": found ${found}, whose middleware (app.use(…)) runs before any mark is checked. Make sure that it serves nothing that must be protected, then allow it with requireMarks: { middleware: true }.`,
  )
}
