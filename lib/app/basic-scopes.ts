import type { FastifyBaseLogger } from 'fastify'
import { membersOf } from '../authenticators/facts.js'
import { ownOf } from '../common/objects.js'
import type { Decision } from '../registration.js'
import type { AccessOptions } from '../../types/options.js'
import { isAutomaticHead } from './fastify.js'
import { methodsOf, type DeclaredRoute } from './routes.js'
import { visible } from './table.js'

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
    .map(({ route: { options } }) => visible(`${methodsOf(options.method).join()} ${options.url}`))
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
