import type { FastifyBaseLogger } from 'fastify'
import { membersOf } from '../authenticators/facts.js'
import { ownOf } from '../common/objects.js'
import { isMark, parseMark } from '../marks/parse.js'
import { isAutomaticHead } from './fastify.js'
import { markOf, methodsOf, routeMark, type DeclaredRoute } from './routes.js'
import { listOf, visible } from './table.js'
import type { Decision } from '../registration.js'
import type { AccessOptions } from '../../types/options.js'

/**
 * Warns of an app that has marked routes and never registers the plugin, so that they are open. It is a process
 * warning because the app may have no logger, and not an error because `config.auth` may belong to another plugin.
 */
export function warnUnregistered(routes: readonly DeclaredRoute[]): void {
  const marked = [...new Set(routes.filter(isOpenByMistake).map(nameOf))].toSorted()
  if (marked.length === 0) return
  process.emitWarning(
    `fastify-authn: these routes are marked, but the app never registers the plugin, so that everybody may call them. Register it (app.register(authn, …)) in this app. If config.auth is meant for another plugin here, run node with --disable-warning=FASTIFY_AUTHN_UNREGISTERED.${listOf(marked)}`,
    { type: 'SecurityWarning', code: 'FASTIFY_AUTHN_UNREGISTERED' },
  )
}

/**
 * Whether a route has a mark that asks for authentication. Values that are not marks belong to another plugin, and a
 * HEAD route that Fastify added is not listed beside its GET route.
 */
function isOpenByMistake(route: DeclaredRoute): boolean {
  const mark = markOf(routeMark(route), route.server)
  return isMark(mark) && parseMark(mark, '').mode !== false && !isAutomaticHead(route.options)
}

/** How many routes the warning names. */
const most = 20

/**
 * Warns of routes that ask for a scope and accept Basic, while the scopes of users come from tokens: whoever comes
 * with a password would get a 403 there, whoever it is.
 */
export function warnBasicScopes(
  decided: readonly { readonly route: DeclaredRoute; readonly decision: Decision }[],
  log: FastifyBaseLogger,
): void {
  const names = decided
    .filter(({ route, decision }) => isInVain(decision) && !isAutomaticHead(route.options))
    .map(({ route }) => nameOf(route))
  if (names.length === 0) return
  const routes = [...names.slice(0, most), ...(names.length > most ? ['and others'] : [])]
  log.warn(
    { routes },
    `fastify-authn: routes ask for a scope and accept Basic, but nobody has scopes with Basic, so that everybody gets a 403 with it (${routes.join(', ')}). Give the plugin access: { scopesOf(user) { … } }, or let "use" in the marks name authenticators with tokens.`,
  )
}

function isInVain(decision: Decision): boolean {
  if (decision.plan === null || decision.plan.needs === null) return false
  const { plan, registration } = decision
  const access = ownOf(registration.options, 'access') as AccessOptions | undefined
  return (
    plan.needs?.scope !== null &&
    access?.scopesOf === undefined &&
    membersOf(plan.authenticator).some(({ scheme }) => scheme?.toLowerCase() === 'basic')
  )
}

function nameOf({ options }: DeclaredRoute): string {
  return visible(`${methodsOf(options.method).join()} ${options.url}`)
}
