import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { isThenable } from '../objects.js'
import { isAutomatic, isWithin, markOf, methodsOf, urlsOf, type DeclaredRoute } from './declared.js'
import { constraintsText, visible } from './table.js'
import type { AuditOptions } from '../../types/options.js'
import type { UndecidedRoute } from '../../types/routes.js'

/** How many routes an error names. */
const most = 20

/**
 * Stops the boot when there are routes of a scope for which nobody has decided who may call them: neither a mark of
 * their own nor one of a scope around them.
 *
 * @throws ERR_AUTH_AUDIT that names them; ERR_AUTH_OPTION when `except` fails
 */
export function requireDecisions(
  routes: readonly DeclaredRoute[],
  scope: FastifyInstance,
  audit: 'explicit' | AuditOptions,
): void {
  const { except } = audit === 'explicit' ? {} : audit
  const open = routes.filter(
    ({ options, server }) =>
      markOf(options.config?.auth, server) === undefined && isWithin(server, scope),
  )
  const described = open.flatMap(describe)
  const gets = new Set(described.filter(({ methods }) => methods.includes('GET')).map(placeOf))
  const offending = described
    // What is decided for a GET route holds for the HEAD route that Fastify makes of it.
    .filter((route) => !(route.isAutomaticHead && gets.has(placeOf(route))))
    .filter((route) => except === undefined || !isExcepted(route, except))
  if (offending.length > 0) throw undecided(offending.map(nameOf).toSorted())
}

function describe(route: DeclaredRoute): UndecidedRoute[] {
  const { options, server } = route
  const { hide } = (options.schema ?? {}) as { hide?: unknown }
  return urlsOf(route).map((url) => ({
    methods: methodsOf(options.method),
    url,
    constraints: { ...options.constraints },
    isAutomaticHead: isAutomatic(options),
    prefix: server.prefix,
    isHidden: hide === true,
    config: { ...options.config },
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
  // Nobody waits for it.
  if (isThenable(answer)) Promise.resolve(answer).catch(() => undefined)
  const found = isThenable(answer) ? 'a promise' : answer === null ? 'null' : typeof answer
  throw new AuthnUsageError(
    'ERR_AUTH_OPTION',
    `option "audit.except": found ${found} for ${nameOf(route)}, expected true or false.`,
  )
}

function placeOf({ url, constraints }: UndecidedRoute): string {
  return `${url} ${constraintsText(constraints)}`
}

function nameOf({ methods, url }: UndecidedRoute): string {
  return visible(`${methods.join(',')} ${url}`)
}

function undecided(names: readonly string[]): AuthnUsageError {
  const count = names.length === 1 ? 'a route' : `${names.length} routes`
  const rest = names.length > most ? [`and ${names.length - most} more`] : []
  const list = [...names.slice(0, most), ...rest].map((line) => `\n  ${line}`).join('')
  return new AuthnUsageError(
    'ERR_AUTH_AUDIT',
    `option "audit": found ${count} without a mark, expected a decision for each. Give each config: { auth: true }, or { auth: false } if everybody may call it; mark a scope around it; or except routes of other plugins with audit: { mode: 'explicit', except: (route) => … }.${list}`,
  )
}
