import type { FastifyInstance } from 'fastify'
import { ownOf } from '../common/objects.js'
import { wrongMark } from '../errors.js'
import { createGuard } from '../guard/hook.js'
import { requireDecisions } from './audit.js'
import { decide, decisionFinder } from './decide.js'
import { requireOurNames } from './decorations.js'
import { keep, missedError } from './routes.js'
import { checkScope } from './scopes.js'
import { warnBasicScopes } from './warnings.js'
import type { Tree } from './tree.js'
import type { ResolvedOptions } from '../options/resolve.js'

/**
 * Adds the guard to a whole tree, once, as one hook of its root. Of the root, because a marked route outside of the
 * plugin's scope must not be open. One hook, because hooks that are added to each route when it is declared would
 * miss the routes declared before.
 *
 * @throws ERR_AUTH_MARK for a mark that is not valid; when the app gets ready, for a mark without an authenticator
 */
export function protectTree(tree: Tree): void {
  if (tree.isProtected) return
  if (!tree.isComplete) {
    wrongMark(
      'the package was loaded after the app was made, and scopes were made in between: their marks would have no effect. Load fastify-authn before you call Fastify(), or register it before everything else.',
    )
  }
  tree.isProtected = true
  tree.scopes.forEach(checkScope)
  const { root, decisions, missedRoutes } = tree
  root.addHook('onRequest', createGuard(decisionFinder(decisions, missedRoutes)))
  root.addHook('onReady', function audit(done) {
    try {
      settle(tree)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}

/** Makes the final decision for every route. */
function settle(tree: Tree): void {
  tree.scopes.splice(0).forEach(checkScope)
  const decided = tree.routes.map((route) => ({ route, decision: decide(route) }))
  requireOurNames(tree.decorations, decided)
  tree.audits.forEach((option, scope) => {
    requireDecisions(tree.routes, tree.instances, scope, option)
  })
  warnBasicScopes(decided, tree.root.log)
  decided.forEach(({ route, decision }) => tree.decisions.add(route.token, decision))
  tree.kept = decided.flatMap(({ route, decision }) => keep(route, decision))
  tree.routes.length = 0
}

/**
 * Records that the plugin is registered in a scope, with the mark and the audit of that scope.
 *
 * @throws ERR_AUTH_AUDIT when an audit is requested and routes may have been declared before we could listen
 */
export function addRegistration(
  tree: Tree,
  scope: FastifyInstance,
  options: Pick<ResolvedOptions, 'auth' | 'audit'>,
): void {
  const { audit } = options
  if (audit !== undefined && tree.missedRoutes)
    throw missedError('ERR_AUTH_AUDIT', 'option "audit"')
  tree.registered.add(scope)
  if (audit !== undefined) tree.audits.set(scope, audit)
  if (ownOf(options, 'auth') !== undefined) tree.markedByPlugin.add(scope)
}
