import type { FastifyInstance } from 'fastify'
import { markScope } from '../marks/inherit.js'
import { watchCors } from './cors.js'
import { decide, Decisions } from './decide.js'
import { watchDecorations, type Decorations } from './decorations.js'
import { hasRoutes, hasScopes, onInstance, rootOf } from './fastify.js'
import { watchRegister, type Registered } from './register.js'
import { declared, tokenOf, type DeclaredRoute } from './routes.js'
import { warnUnregistered } from './warnings.js'
import { checkScope, scopeOf, voidScopeOf, type MarkedScope } from './scopes.js'
import type { SharedTools } from '../passwords/tools.js'
import type { Ledger } from './report.js'
import type { Decision } from '../registration.js'
import type { AuditOptions } from '../../types/options.js'

const kTree: unique symbol = Symbol.for('fastify-authn.tree')

/** A Fastify root instance with all its scopes: what is declared in them, and what our registrations share. */
export interface Tree extends SharedTools, Ledger {
  readonly root: FastifyInstance
  /** All instances that we know of. */
  readonly instances: FastifyInstance[]
  readonly decorations: Decorations
  /** Emptied when the app is ready. */
  readonly routes: DeclaredRoute[]
  /** Emptied when the app is ready. */
  readonly scopes: MarkedScope[]
  readonly decisions: Decisions
  readonly logins: Set<string>
  readonly registered: Set<FastifyInstance>
  readonly markedByPlugin: Set<FastifyInstance>
  /** The option `audit`, by the scope of the registration. */
  readonly audits: Map<FastifyInstance, AuditOptions>
  /** Whether the plugin is registered anywhere in the tree. */
  isProtected: boolean
  /** Whether we know of every scope that was made. */
  readonly isComplete: boolean
}

type Root = FastifyInstance & { [kTree]?: Tree }

/**
 * Adds to the OpenAPI documents of an app who may call its routes.
 *
 * @param decisionOf - returns the decision for the route that a `config` belongs to
 * @returns a function that changes the options of every plugin that is registered
 */
export type Describe = (
  root: FastifyInstance,
  decisionOf: (config: object | undefined) => Decision | undefined,
) => (registered: Registered) => unknown

/**
 * Listens to every app that is made from now on, because routes and scopes that are declared before the plugin is
 * registered have to be known too. In an app that never registers the plugin, this has no effect.
 *
 * @returns a function that returns the tree of an instance
 */
export function watchTrees(describe: Describe): (app: FastifyInstance) => Tree {
  onInstance((root) => treeOf(root, describe))
  return (app) => treeOf(rootOf(app), describe, true)
}

/** @param isLate - whether routes and scopes may have been declared before we could listen */
function treeOf(root: Root, describe: Describe, isLate = false): Tree {
  if (root[kTree] !== undefined) return root[kTree]
  const tree: Tree = {
    root,
    instances: [root],
    decorations: watchDecorations(root),
    routes: [],
    kept: null,
    scopes: [],
    decisions: new Decisions(),
    logins: new Set(),
    published: new Map(),
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
  listen(tree, describe)
  return tree
}

function listen(tree: Tree, describe: Describe): void {
  const { root } = tree
  root.addHook('onRoute', function remember(this: FastifyInstance, options) {
    tree.routes.push(declared(options, this, tree.routes))
  })
  root.addHook('onReady', (done) => {
    if (!tree.isProtected) warnUnregistered(tree.routes)
    done()
  })
  root.addHook('onRegister', (instance, options: object) => {
    tree.instances.push(instance)
    const scope = scopeOf(options)
    if (scope === null) return
    addScope(tree, scope)
    if (scope.mark !== undefined) markScope(instance, scope.mark)
  })
  watchCors(root, () => tree.isProtected)
  const document = describe(root, (config) => decisionOf(tree, config))
  watchRegister(root, (registered: Registered) => {
    const scope = voidScopeOf(registered)
    // An error cannot be thrown here any more: these scopes are checked when the app gets ready.
    if (scope !== null && registered.isLate) tree.scopes.push(scope)
    else if (scope !== null) addScope(tree, scope)
    return document(registered)
  })
}

function addScope(tree: Tree, scope: MarkedScope): void {
  if (tree.isProtected) checkScope(scope)
  tree.scopes.push(scope)
}

/** The decision for the route of a `config`, made now if it was not yet; undefined for a route that is not known. */
function decisionOf(tree: Tree, config: object | undefined): Decision | undefined {
  const token = tokenOf(config)
  const route = tree.routes.find((each) => each.token === token)
  return route === undefined ? token && tree.decisions.get(token) : decide(route)
}
