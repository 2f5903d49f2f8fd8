import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { isThenable } from '../common/objects.js'
import { isAutomaticHead, isWithin, urlsOf } from './fastify.js'
import { markOf, methodsOf, routeMark, type DeclaredRoute } from './routes.js'
import { listOf, visible } from './table.js'
import type { AuditOptions } from '../../types/options.js'
import type { UndecidedRoute } from '../../types/routes.js'

/**
 * Stops the boot when a scope has routes without a mark, neither of their own nor of a scope around them.
 *
 * @throws ERR_AUTH_AUDIT that lists the routes; ERR_AUTH_OPTION when `except` fails
 */
export function requireDecisions(
  routes: readonly DeclaredRoute[],
  scope: FastifyInstance,
  { except }: AuditOptions,
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
  if (offending.length > 0) throw undecided(offending.map(nameOf).toSorted())
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
    throw new AuthnUsageError(
      'ERR_AUTH_OPTION',
      `option "audit.except": it threw for ${nameOf(route)}, expected true or false (see the cause).`,
      error,
    )
  }
  if (typeof answer === 'boolean') return answer
  // `except` must not return a promise. Its rejection is caught here, as it would end the process.
  if (isThenable(answer)) Promise.resolve(answer).catch(() => undefined)
  const found = isThenable(answer) ? 'a promise' : answer === null ? 'null' : typeof answer
  throw new AuthnUsageError(
    'ERR_AUTH_OPTION',
    `option "audit.except": found ${found} for ${nameOf(route)}, expected true or false.`,
  )
}

function nameOf({ methods, url }: UndecidedRoute): string {
  return visible(`${methods.join(',')} ${url}`)
}

function undecided(names: readonly string[]): AuthnUsageError {
  const count = names.length === 1 ? 'a route' : `${names.length} routes`
  return new AuthnUsageError(
    'ERR_AUTH_AUDIT',
    `option "audit": found ${count} without a mark, expected a decision for each. Give each config: { auth: true }, or { auth: false } if everybody may call it; mark a scope around it; or except routes of other plugins with audit: { mode: 'explicit', except: (route) => … }.${listOf(names)}`,
  )
}
