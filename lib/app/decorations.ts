import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { isWithin, wrapMethod } from './fastify.js'
import type { DeclaredRoute } from './routes.js'
import type { Decision } from '../registration.js'
import { requestNames, takenError } from '../request/decorators.js'
import { routeName } from '../marks/inherit.js'
import { kCarried } from '../request/carried.js'

/** Conflicts with other plugins over the names that we decorate requests with. */
export interface Decorations {
  /** Scopes in which another plugin added `request.user` before we did. */
  readonly foreignUsers: FastifyInstance[]
  /** Errors for other plugins that decorated a name after we had. */
  readonly conflicts: AuthnUsageError[]
}

/**
 * Wraps `decorateRequest`, to find other plugins that add one of our names. Fastify's own error would not say what to
 * do, and would end the process when a callback plugin throws it. Ours stops the boot.
 */
export function watchDecorations(root: FastifyInstance): Decorations {
  const decorations: Decorations = { foreignUsers: [], conflicts: [] }
  wrapMethod(root, 'decorateRequest', (scope, args, decorateRequest) => {
    const name = String(args[0])
    // This decorator is added before all our other ones.
    const isOurs = scope.hasRequestDecorator(kCarried)
    const isWanted = requestNames.some((each) => each === name)
    if (isOurs && isWanted && scope.hasRequestDecorator(name)) {
      decorations.conflicts.push(takenError(name))
      return scope
    }
    const result = decorateRequest(...args)
    if (name === 'user' && !isOurs) decorations.foreignUsers.push(scope)
    return result
  })
  return decorations
}

/**
 * Checks that `request.user` is ours on every marked route. It is not in a scope in which another plugin added its own
 * before we were registered in a scope around it.
 *
 * @throws ERR_AUTH_DECORATOR
 */
export function requireOurNames(
  { conflicts: [conflict], foreignUsers }: Decorations,
  routes: readonly { readonly route: DeclaredRoute; readonly decision: Decision }[],
): void {
  if (conflict !== undefined) throw conflict
  for (const { route, decision } of routes) {
    const { options, server } = route
    if (decision.plan !== null && foreignUsers.some((scope) => isWithin(server, scope))) {
      throw takenError('user', `${routeName(options.method, options.url)}: in its scope, `)
    }
  }
}
