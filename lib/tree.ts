import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { guard, routeName, scopeMarkOf, unguarded } from './guard.js'
import { parseMark } from './marks.js'
import { registrationOf } from './registration.js'
import { kScopeMark, kTree } from './symbols.js'
import type { HashingHolder } from './password-tools.js'

interface DeclaredRoute {
  readonly options: RouteOptions
  readonly server: FastifyInstance
}

interface MarkedScope {
  readonly mark: unknown
  readonly prefix: unknown
}

/** A tree of Fastify instances: what was declared in it, and what the registrations in it share. */
export interface Tree extends HashingHolder {
  readonly routes: DeclaredRoute[]
  readonly scopes: MarkedScope[]
  /** URLs of our login routes. */
  readonly logins: Set<string>
  /** Whether the plugin is registered anywhere in the tree. */
  isProtected: boolean
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
function treeOf(root: Root): Tree {
  if (root[kTree] !== undefined) return root[kTree]
  const tree: Tree = {
    routes: [],
    scopes: [],
    logins: new Set(),
    isProtected: false,
    hashing: null,
  }
  root[kTree] = tree
  root.addHook('onRoute', function remember(this: FastifyInstance, options) {
    const route = { options, server: this }
    if (tree.isProtected) checkRoute(route)
    tree.routes.push(route)
  })
  root.addHook('onRegister', (instance, options: { auth?: unknown; prefix?: unknown }) => {
    const { auth: mark, prefix } = options
    if (mark === undefined) return
    if (tree.isProtected) checkScope({ mark, prefix })
    tree.scopes.push({ mark, prefix })
    Object.defineProperty(instance, kScopeMark, { value: mark, configurable: true, writable: true })
  })
  return tree
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
  const tree = treeOf(root)
  if (tree.isProtected) return tree
  tree.isProtected = true
  tree.routes.forEach(checkRoute)
  tree.scopes.forEach(checkScope)
  root.addHook('onRequest', guard)
  root.addHook('onReady', function audit(done) {
    try {
      tree.routes.splice(0).forEach(auditRoute)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
  return tree
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

function checkRoute({ options }: DeclaredRoute): void {
  const mark: unknown = options.config?.auth
  if (mark !== undefined) parseMark(mark, routeName(options.method, options.url))
}

function checkScope({ mark, prefix }: MarkedScope): void {
  parseMark(mark, `app.register(…, { prefix: ${JSON.stringify(prefix)}, auth })`)
}

/** Every marked route must have an authenticator that judges its requests. */
function auditRoute({ options, server }: DeclaredRoute): void {
  const own: unknown = options.config?.auth
  const mark = own === undefined ? scopeMarkOf(server) : own
  if (mark === undefined || mark === false) return
  const registration = registrationOf(server)
  if (registration === undefined) throw unguarded(options.method, options.url)
  registration.plan(mark, routeName(options.method, options.url))
}
