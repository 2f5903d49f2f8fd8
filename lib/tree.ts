import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { guard, routeName, scopeMarkOf, unguarded } from './guard.js'
import { AuthnUsageError } from './errors.js'
import { isMark, parseMark } from './marks.js'
import { registrationOf } from './registration.js'
import { kScopeMark, kTree } from './symbols.js'
import type { SharedTools } from './password-tools.js'

interface DeclaredRoute {
  readonly options: RouteOptions
  readonly server: FastifyInstance
}

interface MarkedScope {
  readonly mark: unknown
  readonly prefix: unknown
  /** Whether Fastify never makes this scope, so that its mark has no effect. */
  readonly isVoid: boolean
}

/** A tree of Fastify instances: what was declared in it, and what the registrations in it share. */
export interface Tree extends SharedTools {
  readonly routes: DeclaredRoute[]
  readonly scopes: MarkedScope[]
  /** URLs of our login routes. */
  readonly logins: Set<string>
  /** Whether the plugin is registered anywhere in the tree. */
  isProtected: boolean
  /** Whether everything that was declared was heard of. */
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
function treeOf(root: Root, isComplete = true): Tree {
  if (root[kTree] !== undefined) return root[kTree]
  const tree: Tree = {
    routes: [],
    scopes: [],
    logins: new Set(),
    isProtected: false,
    isComplete,
    hashing: null,
    throttles: [],
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
    addScope(tree, { mark, prefix, isVoid: false })
    Object.defineProperty(instance, kScopeMark, { value: mark, configurable: true, writable: true })
  })
  watchRegister(root, tree)
  return tree
}

function addScope(tree: Tree, scope: MarkedScope): void {
  if (tree.isProtected) checkScope(scope)
  tree.scopes.push(scope)
}

/**
 * A plugin that is wrapped by fastify-plugin has no scope of its own, and `onRegister` does not tell of it;
 * nor does it tell of options that are a function. A mark there would be ignored, so it is looked for.
 */
function watchRegister(root: Root, tree: Tree): void {
  const { register } = root as { register: (plugin: unknown, options?: unknown) => unknown }
  function watched(this: FastifyInstance, plugin: unknown, options?: unknown): unknown {
    if (typeof options !== 'function') {
      const scope = isShared(plugin) ? voidScope(options) : null
      if (scope !== null) addScope(tree, scope)
      return register.call(this, plugin, options)
    }
    return register.call(this, plugin, (instance: FastifyInstance): unknown => {
      const resolved: unknown = (options as (instance: FastifyInstance) => unknown)(instance)
      const scope = isOurs(plugin) ? null : voidScope(resolved)
      // What is thrown here would not be caught: the audit finds it.
      if (scope !== null) tree.scopes.push(scope)
      return resolved
    })
  }
  root.register = watched as never
}

/** Other plugins have an option `auth` of their own, which is none of our business. */
function voidScope(options: unknown): MarkedScope | null {
  const { auth: mark, prefix } = (options ?? {}) as { auth?: unknown; prefix?: unknown }
  return mark !== undefined && isMark(mark) ? { mark, prefix, isVoid: true } : null
}

/** Whether a plugin shares the scope around it, and is not this one. */
function isShared(plugin: unknown): boolean {
  return propertyOf(plugin, Symbol.for('skip-override')) === true && !isOurs(plugin)
}

function isOurs(plugin: unknown): boolean {
  const meta = propertyOf(plugin, Symbol.for('plugin-meta')) as { name?: unknown } | undefined
  return meta?.name === 'fastify-authn'
}

/** A property of a plugin, or of the default export of a module that is one. */
function propertyOf(plugin: unknown, key: symbol): unknown {
  const { default: inner } = (plugin ?? {}) as { default?: unknown }
  return ((inner ?? plugin ?? {}) as Record<symbol, unknown>)[key]
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
  const tree = treeOf(root, !hasScopes(root))
  if (tree.isProtected) return tree
  if (!tree.isComplete) throw lateError()
  tree.isProtected = true
  tree.routes.forEach(checkRoute)
  tree.scopes.forEach(checkScope)
  root.addHook('onRequest', guard)
  root.addHook('onReady', function audit(done) {
    try {
      tree.scopes.forEach(checkScope)
      tree.routes.splice(0).forEach(auditRoute)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
  return tree
}

/** Whether there are inner scopes already: their marks, if any, were not heard of. */
function hasScopes(root: Root): boolean {
  const children = Object.getOwnPropertySymbols(root).find(
    ({ description }) => description === 'fastify.children',
  )
  const scopes = children && (root as unknown as Record<symbol, unknown>)[children]
  return Array.isArray(scopes) && scopes.length > 0
}

function lateError(): AuthnUsageError {
  return new AuthnUsageError(
    'ERR_AUTH_MARK',
    'the package was loaded after the app was made, and there are scopes that it did not hear of: their marks would have no effect. Load fastify-authn before you call Fastify(), or register it before everything else.',
  )
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

function checkScope({ mark, prefix, isVoid }: MarkedScope): void {
  const place = `app.register(…, { prefix: ${JSON.stringify(prefix)}, auth })`
  parseMark(mark, place)
  if (!isVoid) return
  throw new AuthnUsageError(
    'ERR_AUTH_MARK',
    `${place}: the mark has no effect, since the plugin is wrapped by fastify-plugin (as @fastify/autoload is) or its options are a function. Mark its routes, register it inside of a plain plugin that is marked, or with @fastify/autoload write { dir, options: { auth } }.`,
  )
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
