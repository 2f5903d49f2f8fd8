// All that we assume about the internals of Fastify and of its plugins. Each assumption has a test, whose failure says
// what has changed: test/app/fastify.test.ts.
import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'

/** Calls back with every root instance that is made from now on, before anything can be declared in it. */
export function onInstance(made: (root: FastifyInstance) => void): void {
  subscribe('fastify.initialization', (message) => {
    made((message as { fastify: FastifyInstance }).fastify)
  })
}

export function rootOf(app: FastifyInstance): FastifyInstance {
  const outer = outerOf(app)
  return outer === null ? app : rootOf(outer)
}

/** Whether a scope is another one, or lies inside of it. */
export function isWithin(server: FastifyInstance, scope: FastifyInstance): boolean {
  return server === scope || Object.prototype.isPrototypeOf.call(scope, server)
}

/** The scope around a scope, which is its prototype; null for the root. */
export function outerOf(app: FastifyInstance): FastifyInstance | null {
  const outer = Object.getPrototypeOf(app) as FastifyInstance
  return 'addHook' in outer ? outer : null
}

/** The arguments of `app.register`, and the method itself. */
export type Register = (plugin: unknown, options: unknown) => unknown

/** Wraps `register` for a whole app: scopes inherit it from the root. */
export function wrapRegister(
  root: FastifyInstance,
  around: (plugin: unknown, options: unknown, register: Register) => unknown,
): void {
  const { register } = root as unknown as { register: (...args: unknown[]) => unknown }
  root.register = function wrapped(this: FastifyInstance, plugin: unknown, options: unknown) {
    return around(plugin, options, (...own) => register.apply(this, own))
  } as never
}

/** Whether routes or inner scopes were declared already; true also where that is unknown. */
export function hasDeclarations(root: FastifyInstance): boolean {
  const isChildren = ({ description }: symbol): boolean => description === 'fastify.children'
  const key = Object.getOwnPropertySymbols(root).find(isChildren)
  const scopes: unknown = key && (root as unknown as Record<symbol, unknown>)[key]
  return !Array.isArray(scopes) || scopes.length > 0 || root.printRoutes() !== '(empty tree)'
}

/** Whether Fastify has added a HEAD route to a GET route. It is recognised by the hook that drops the body. */
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
 * Whether a route is the one that @fastify/cors adds to its scope for preflight requests. No other route can pass for
 * it: Fastify rejects the same method and URL twice, unless the constraints differ.
 */
export function isCorsPreflight(
  { method, constraints, routePath }: RouteOptions & { readonly routePath: string },
  { pluginName }: FastifyInstance,
): boolean {
  const isCatchAll = method === 'OPTIONS' && routePath === '*'
  const isPlain = Object.keys(constraints ?? {}).length === 0
  return isCatchAll && isPlain && hasCors({ pluginName })
}

/** Whether @fastify/cors was registered in this very scope: `pluginName` lists the plugins that share it. */
export function hasCors({ pluginName }: Pick<FastifyInstance, 'pluginName'>): boolean {
  return pluginName.split(' -> ').includes('@fastify/cors')
}

/** Whether a plugin is wrapped by fastify-plugin, and so gets no scope of its own. */
export function isShared(plugin: unknown): boolean {
  return Boolean(propertyOfPlugin(plugin, Symbol.for('skip-override')))
}

export function nameOfPlugin(plugin: unknown): unknown {
  const meta = propertyOfPlugin(plugin, Symbol.for('plugin-meta')) as { name?: unknown } | undefined
  return meta?.name
}

/** A property of a plugin or, where a module was given, of its default export. */
function propertyOfPlugin(plugin: unknown, key: symbol): unknown {
  const { default: inner } = (plugin ?? {}) as { default?: unknown }
  return ((inner ?? plugin ?? {}) as Record<symbol, unknown>)[key]
}
