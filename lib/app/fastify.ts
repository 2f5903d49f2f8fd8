// All that we assume about the internals of Fastify and of its plugins. Each assumption has a test in test/app/ or, for
// @fastify/cors, in test/guard/unmatched.test.ts.
import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyRequest, onRouteHookHandler, RouteOptions } from 'fastify'
import { isThenable } from '../common/objects.js'
import { wrongMark } from '../errors/errors.js'

export const loadFirst =
  'Import fastify-authn before you call Fastify(): with fastify-cli, on the first line of app.js or app.ts.'

export const loadedLate = `the package was loaded after routes or scopes of the app had been declared, so it does not know their marks. ${loadFirst}`

/** Calls back with every root instance that is made from now on, before anything can be declared in it. */
export function onNewApp(made: (root: FastifyInstance) => void): void {
  subscribe('fastify.initialization', (message) => {
    made((message as { fastify: FastifyInstance }).fastify)
  })
}

export function rootOf(app: FastifyInstance): FastifyInstance {
  const outer = outerOf(app)
  return outer === null ? app : rootOf(outer)
}

export function isWithin(server: FastifyInstance, scope: FastifyInstance): boolean {
  return server === scope || Object.prototype.isPrototypeOf.call(scope, server)
}

/** The scope around a scope, which is its prototype; null for the root. */
export function outerOf(app: FastifyInstance): FastifyInstance | null {
  const outer = Object.getPrototypeOf(app) as FastifyInstance
  return 'addHook' in outer ? outer : null
}

/** Adds a property that decorators may replace: to a prototype, since Fastify rejects decorating over an own one. */
export function setFallback(root: FastifyInstance, name: string, get: () => unknown): void {
  function set(this: object, value: unknown): void {
    Object.defineProperty(this, name, { value, writable: true, configurable: true })
  }
  if (name in root) return
  Object.setPrototypeOf(root, Object.defineProperty({}, name, { get, set }))
}

type Register = (this: FastifyInstance, plugin: unknown, options: unknown) => unknown

/**
 * Calls back for every plugin of an app, whose scopes inherit `register`. The hook `onRegister` is not enough: it is
 * not called for plugins without a scope of their own, and does not get the options that a function returns.
 * @param look - returns the options to use, and does not throw. `isComputed`: they came from a function
 */
export function watchRegister(
  root: FastifyInstance,
  look: (plugin: unknown, given: unknown, isComputed: boolean, server: FastifyInstance) => unknown,
): void {
  const register = root.register as unknown as Register
  const watched: Register = function watched(given, options) {
    if (typeof options === 'function') {
      let plugin = given
      const loaded = isThenable(given) ? given.then((module) => (plugin = module)) : given
      const compute = options as (parent: FastifyInstance) => unknown
      const late = (parent: FastifyInstance): unknown => look(plugin, compute(parent), true, parent)
      return register.call(this, loaded, late)
    }
    if (!isThenable(given)) return register.call(this, given, look(given, options, false, this))
    // A plugin from `import()` is known later, and its options are changed then.
    const own = { ...(options as object | undefined) }
    const loaded = given.then((module: unknown) => {
      Object.assign(own, look(module, own, false, this))
      return module
    })
    return register.call(this, loaded, own)
  }
  root.register = watched as never
}

/** A plugin of avvio. `server`: its own scope or, if it has none, the one around it. `isAfter`: of `after()`. */
interface AvvioPlugin {
  emit(this: AvvioPlugin, event: string, ...about: unknown[]): boolean
  readonly func: object
  readonly server: FastifyInstance
  options: unknown
  readonly isAfter: boolean
}

/**
 * Calls back for the plugins of an app that was made before the package was loaded: for each that starts from now on,
 * and for those around this one, when they are loaded. avvio tells that by the method `emit` of the class that plugins
 * have in common, which is found because avvio calls a function of options as a method of its plugin.
 * @param see - returns the options to use
 */
export function watchPlugins(
  app: FastifyInstance,
  see: (plugin: AvvioPlugin, isStarting: boolean) => unknown,
): void {
  const root = rootOf(app)
  const seen = new WeakSet()
  const probe = async (): Promise<void> => void (seen.has(probe) || wrongMark(loadedLate))
  function watch(this: AvvioPlugin | undefined): object {
    if (typeof this?.emit !== 'function' || this.func !== probe) return {}
    const plugins = Object.getPrototypeOf(this) as AvvioPlugin
    const { emit } = plugins
    plugins.emit = function watched(event, ...about) {
      const isStarting = event === 'start'
      const isNews = isStarting || (event === 'loaded' && !seen.has(this))
      if (isNews && !this.isAfter && isWithin(this.server, root)) {
        seen.add(this).add(this.func)
        this.options = see(this, isStarting)
      }
      return emit.call(this, event, ...about)
    }
    return {}
  }
  // As if it was wrapped by fastify-plugin: it needs no scope.
  app.register(Object.assign(probe, { [Symbol.for('skip-override')]: true }), watch as never)
}

/** All scopes of an app, from the root. @throws ERR_AUTH_MARK where it has routes, or where that is unknown */
export function scopesWithoutRoutes(scope: FastifyInstance): FastifyInstance[] {
  const inner = hiddenOf<FastifyInstance[]>(scope, 'fastify.children')
  if (inner === undefined || scope.printRoutes() !== '(empty tree)') return wrongMark(loadedLate)
  return [scope, ...inner.flatMap((each) => scopesWithoutRoutes(each))]
}

/** Adds a hook to scopes, since one that exists does not inherit it any more, before the hooks that are there. */
export function onRouteFirst(scopes: readonly FastifyInstance[], hook: onRouteHookHandler): void {
  for (const scope of scopes) {
    scope.addHook('onRoute', hook)
    const hooks = hiddenOf<{ onRoute: unknown[] }>(scope, 'fastify.hooks')?.onRoute
    hooks?.unshift(...hooks.splice(-1))
  }
}

/** A symbol of Fastify, which does not export it, among the keys of an object. */
function symbolOf(object: object, name: string): symbol | undefined {
  return Object.getOwnPropertySymbols(object).find(({ description }) => description === name)
}

function hiddenOf<Value>(object: object, name: string): Value | undefined {
  return (object as Record<symbol, Value | undefined>)[symbolOf(object, name) as symbol]
}

let kContext: symbol | undefined

/** The `config` of a request's route. `request.routeOptions` makes an object at each read, for 3 % of the CPU time. */
export function configOf(request: FastifyRequest): object | undefined {
  kContext ??= symbolOf(request, 'fastify.context')
  const context = (request as unknown as Record<symbol, { config?: object } | undefined>)[
    kContext as symbol
  ]
  return context === undefined ? request.routeOptions.config : context.config
}

/** The methods with which Fastify reads no body, which `addHttpMethod()` can change; none where they are unknown. */
export function bodylessMethods(root: FastifyInstance): ReadonlySet<string> {
  const methods = hiddenOf<{ bodyless?: Set<string> }>(root, 'fastify.acceptedHTTPMethods')
  return methods?.bodyless ?? new Set()
}

/** Whether Fastify has added a HEAD route to a GET route. It is recognised by the hook that drops the body. */
export function isAutomaticHead({ method, onSend }: RouteOptions): boolean {
  const last = [onSend].flat().at(-1)
  return method === 'HEAD' && last?.name === 'headRouteOnSendHandler'
}

/**
 * A route `/` in a scope with the prefix `/notes` becomes two by default (`prefixTrailingSlash`): `/notes` and
 * `/notes/`. `onRoute` is called for the first only; Fastify adds the second with the same options.
 */
export function urlsOf(options: RouteOptions & { readonly routePath: string }, url: string) {
  const isTwo = options.routePath === '/' && options.url === `${url}/`
  return isTwo ? [url, options.url] : [options.url]
}

/**
 * Whether a route is the one that @fastify/cors adds to its scope for preflight requests. No other route can pass for
 * it: Fastify rejects the same method and URL twice, unless the constraints differ.
 */
export function isCorsPreflight(
  { method, constraints = {}, routePath }: RouteOptions & { readonly routePath: string },
  server: FastifyInstance,
): boolean {
  const isCatchAll = method === 'OPTIONS' && routePath === '*'
  return isCatchAll && Object.keys(constraints).length === 0 && hasCors(server)
}

/** Whether @fastify/cors was registered in this very scope: `pluginName` lists the plugins that share it. */
export function hasCors({ pluginName }: FastifyInstance): boolean {
  return pluginName.split(' -> ').includes('@fastify/cors')
}

/** Whether a plugin is wrapped by fastify-plugin, so that it gets no scope of its own. */
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
