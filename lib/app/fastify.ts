// Everything that we assume about the internals of Fastify and of its plugins stands in this file. Each assumption
// has a test whose failure says what changed: test/app/fastify.test.ts.
import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'

/** Calls back with every new root instance, before anything can be declared in it. */
export function onInstance(made: (root: FastifyInstance) => void): void {
  subscribe('fastify.initialization', (message) => {
    made((message as { fastify: FastifyInstance }).fastify)
  })
}

/** The root instance of a scope. The prototype of a scope is the scope around it. */
export function rootOf(app: FastifyInstance): FastifyInstance {
  const outer = Object.getPrototypeOf(app) as FastifyInstance
  return 'addHook' in outer ? rootOf(outer) : app
}

/** Whether `server` is `scope` itself, or lies inside of it. */
export function isWithin(server: FastifyInstance, scope: FastifyInstance): boolean {
  return server === scope || Object.prototype.isPrototypeOf.call(scope, server)
}

/** The scope that has a property itself, from which `server` inherits it; null when there is none. */
export function ownerOf(server: FastifyInstance, key: symbol): FastifyInstance | null {
  let owner: object | null = server
  while (owner !== null && !Object.hasOwn(owner, key)) {
    owner = Object.getPrototypeOf(owner) as object | null
  }
  return owner as FastifyInstance | null
}

type Method = 'addHook' | 'decorateRequest' | 'register'
type Call = (...args: unknown[]) => unknown

/**
 * Wraps a method for all instances of a tree, by wrapping that of the root: scopes inherit it.
 *
 * @param around - called in place of the method, with the scope, the arguments and the method itself
 */
export function wrapMethod(
  root: FastifyInstance,
  name: Method,
  around: (scope: FastifyInstance, args: readonly unknown[], method: Call) => unknown,
): void {
  const method = root[name] as Call
  function wrapped(this: FastifyInstance, ...args: unknown[]): unknown {
    return around(this, args, (...own) => method.apply(this, own))
  }
  root[name] = wrapped as never
}

/** Whether there may be inner scopes: true also when that cannot be found out. */
export function hasScopes(root: FastifyInstance): boolean {
  const isChildren = ({ description }: symbol): boolean => description === 'fastify.children'
  const key = Object.getOwnPropertySymbols(root).find(isChildren)
  const scopes: unknown = key && (root as unknown as Record<symbol, unknown>)[key]
  return !Array.isArray(scopes) || scopes.length > 0
}

/** Whether routes have been declared. */
export function hasRoutes(root: FastifyInstance): boolean {
  return root.printRoutes() !== '(empty tree)'
}

/** Whether a HEAD route was added by Fastify to a GET route. It is recognised by the hook that drops the body. */
export function isAutomaticHead({ method, onSend }: RouteOptions): boolean {
  const last = [onSend].flat().at(-1)
  return method === 'HEAD' && last?.name === 'headRouteOnSendHandler'
}

/**
 * The URLs of a route. A route `/` in a scope with the prefix `/notes` becomes two by default (`prefixTrailingSlash`):
 * `/notes` and `/notes/`. `onRoute` is called for the first only; Fastify adds the second with the same options.
 *
 * @param url - the URL that `onRoute` was called with
 */
export function urlsOf(
  options: RouteOptions & { readonly routePath: string },
  url: string,
): string[] {
  const isTwo = options.routePath === '/' && options.url === `${url}/`
  return isTwo ? [url, options.url] : [options.url]
}

/**
 * Whether a route is the one that @fastify/cors adds to its scope for preflight requests. It answers nothing else. No
 * other route can pass for it: Fastify refuses the same method and URL twice, unless the constraints differ.
 */
export function isCorsPreflight(
  { method, constraints, routePath }: RouteOptions & { readonly routePath: string },
  { pluginName }: FastifyInstance,
): boolean {
  const isCatchAll = method === 'OPTIONS' && routePath === '*'
  const isPlain = Object.keys(constraints ?? {}).length === 0
  return isCatchAll && isPlain && pluginName.split(' -> ').includes('@fastify/cors')
}

/** Whether @fastify/cors is being loaded into a scope. The first hook that it adds is the one that sets the headers. */
export function isLoadingCors({ pluginName }: FastifyInstance): boolean {
  // `pluginName` lists all plugins of the scope, in the order of registration.
  return pluginName.split(' -> ').at(-1) === '@fastify/cors'
}

/** Whether a plugin gets no scope of its own, because it is wrapped by fastify-plugin. */
export function isShared(plugin: unknown): boolean {
  return Boolean(propertyOfPlugin(plugin, Symbol.for('skip-override')))
}

/** The name that a plugin gave to fastify-plugin, if any. */
export function nameOfPlugin(plugin: unknown): unknown {
  const meta = propertyOfPlugin(plugin, Symbol.for('plugin-meta')) as { name?: unknown } | undefined
  return meta?.name
}

/** A property of a plugin; of a module, that of its default export. */
function propertyOfPlugin(plugin: unknown, key: symbol): unknown {
  const { default: inner } = (plugin ?? {}) as { default?: unknown }
  return ((inner ?? plugin ?? {}) as Record<symbol, unknown>)[key]
}
