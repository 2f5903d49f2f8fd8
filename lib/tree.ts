import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import { guard } from './guard.js'
import { describeRoutes } from './openapi/swagger.js'
import { requireDecisions } from './routes/audit.js'
import { auditRoute, checkRoute, declared, keep, type DeclaredRoute } from './routes/declared.js'
import { hasRoutes, hasScopes, lateError, missedError } from './routes/late.js'
import { checkScope, watchRegister, type MarkedScope } from './routes/scopes.js'
import { kScopeMark, kTree } from './symbols.js'
import type { SharedTools } from './password-tools.js'
import type { Ledger } from './routes/report.js'
import type { AuthnOptions } from '../types/options.js'

/** A tree of Fastify instances: what was declared in it, and what the registrations in it share. */
export interface Tree extends SharedTools, Ledger {
  /** Until the app is ready. */
  readonly routes: DeclaredRoute[]
  readonly scopes: MarkedScope[]
  readonly logins: Set<string>
  readonly registered: Set<FastifyInstance>
  readonly markedByPlugin: Set<FastifyInstance>
  /** The option `audit`, by the scope of the registration. */
  readonly audits: Map<FastifyInstance, NonNullable<AuthnOptions['audit']>>
  /** Whether the plugin is registered anywhere in the tree. */
  isProtected: boolean
  /** Whether every scope that was made was heard of. */
  readonly isComplete: boolean
}

type Root = FastifyInstance & { [kTree]?: Tree }

/**
 * From the moment an instance is made: routes and scopes that are declared before the plugin is registered
 * must be heard of too. Registered later, or not at all, nothing comes of it.
 */
subscribe('fastify.initialization', (message) => {
  treeOf((message as { fastify: FastifyInstance }).fastify)
})

/** The tree of an instance; it remembers what is declared from now on. */
function treeOf(root: Root, isLate = false): Tree {
  if (root[kTree] !== undefined) return root[kTree]
  const tree: Tree = {
    routes: [],
    kept: null,
    scopes: [],
    logins: new Set(),
    registered: new Set(),
    markedByPlugin: new Set(),
    audits: new Map(),
    isProtected: false,
    isComplete: !isLate || !hasScopes(root),
    missedRoutes: isLate && hasRoutes(root),
    hashing: null,
    throttles: [],
  }
  root[kTree] = tree
  root.addHook('onRoute', function remember(this: FastifyInstance, options) {
    const route = declared(options, this)
    if (tree.isProtected) checkRoute(route)
    tree.routes.push(route)
  })
  root.addHook('onRegister', (instance, options: { auth?: unknown; prefix?: unknown }) => {
    const { auth: mark, prefix } = options
    if (mark === undefined) return
    addScope(tree, { mark, prefix, isVoid: false })
    Object.defineProperty(instance, kScopeMark, { value: mark, configurable: true, writable: true })
  })
  watchRegister(
    root,
    (scope) => addScope(tree, scope),
    // The audit finds it.
    (scope) => tree.scopes.push(scope),
  )
  describeRoutes(root)
  return tree
}

function addScope(tree: Tree, scope: MarkedScope): void {
  if (tree.isProtected) checkScope(scope)
  tree.scopes.push(scope)
}

/**
 * Puts the guard in front of a whole tree, once, from its root. From the root, because a route that is
 * marked but lies beside the scope of the plugin must not be open; and as one global hook, because hooks
 * that are put on routes as they are declared miss those declared before.
 *
 * @throws ERR_AUTH_MARK for a mark that is none; when the app is ready, for one that nothing can judge
 */
export function protectTree(app: FastifyInstance): Tree {
  const root = rootOf(app)
  const tree = treeOf(root, true)
  if (tree.isProtected) return tree
  if (!tree.isComplete) throw lateError()
  tree.isProtected = true
  tree.routes.forEach(checkRoute)
  tree.scopes.forEach(checkScope)
  root.addHook('onRequest', guard)
  root.addHook('onReady', function audit(done) {
    try {
      tree.scopes.forEach(checkScope)
      tree.routes.forEach(auditRoute)
      tree.audits.forEach((option, scope) => requireDecisions(tree.routes, scope, option))
      tree.kept = tree.routes.splice(0).flatMap(keep)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
  return tree
}

/**
 * Notes that the plugin is registered in a scope, and what it is to hold there.
 *
 * @throws ERR_AUTH_AUDIT when an audit is asked for and there may be routes that were not heard of
 */
export function addRegistration(
  tree: Tree,
  scope: FastifyInstance,
  { auth, audit }: Pick<AuthnOptions, 'auth' | 'audit'>,
): void {
  if (audit !== undefined && tree.missedRoutes)
    throw missedError('ERR_AUTH_AUDIT', 'option "audit"')
  tree.registered.add(scope)
  if (audit !== undefined) tree.audits.set(scope, audit)
  if (auth !== undefined) tree.markedByPlugin.add(scope)
}

/** Scopes inherit from the scope around them. */
function rootOf(app: FastifyInstance): Root {
  let root = app
  for (
    let outer = app;
    'addHook' in outer;
    outer = Object.getPrototypeOf(outer) as FastifyInstance
  ) {
    root = outer
  }
  return root
}
