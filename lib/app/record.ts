import type { FastifyInstance } from 'fastify'
import { declaredProperty, isThenable } from '../common/objects.js'
import { wrongMark } from '../errors.js'
import { guard } from '../guard/attempt.js'
import { isMark, markScope, parseMark } from '../marks/mark.js'
import { describeRoutes } from '../openapi/swagger.js'
import {
  hasCors,
  hasDeclarations,
  isShared,
  nameOfPlugin,
  onInstance,
  rootOf,
  wrapRegister,
} from './fastify.js'
import { checkRoutes, warnUnregistered } from './ready.js'
import { declareRoute, undefinedHooks, type DeclaredRoute } from './routes.js'
import type { SharedTools } from '../passwords/tools.js'
import type { AuditOptions } from '../../types/options.js'

/** What is known of an app: a Fastify root instance with all its scopes. */
export interface AppRecord extends SharedTools {
  readonly root: FastifyInstance
  /** The root and all scopes. */
  readonly instances: FastifyInstance[]
  readonly routes: DeclaredRoute[]
  /** Marked scopes that are still to be checked. */
  readonly scopes: MarkedScope[]
  /** Hooks that are undefined in the options of `app.register`, for a warning. */
  readonly undefinedHooks: string[]
  /** Scopes in which the plugin is registered, in order. */
  readonly registered: Set<FastifyInstance>
  /** The option `audit`, by the scope of the registration. */
  readonly audits: Map<FastifyInstance, AuditOptions>
  /** Whether the guard's hook was added. */
  isProtected: boolean
  /** Whether @fastify/cors was registered at the root before that. */
  isCorsFirst: boolean
  isReady: boolean
}

const records = new WeakMap<FastifyInstance, AppRecord>()

// Every app that is made from now on is recorded, since the routes and scopes that it declares before it registers the
// plugin have to be known too.
onInstance((root) => {
  records.set(root, listen(root))
})

/**
 * The record of an app.
 *
 * @throws ERR_AUTH_MARK where routes or scopes were declared before the package was loaded
 */
export function recordOf(app: FastifyInstance): AppRecord {
  const root = rootOf(app)
  const known = records.get(root)
  if (known !== undefined) return known
  if (hasDeclarations(root)) {
    wrongMark(
      'the package was loaded after routes or scopes of the app had been declared, so it does not know their marks. Load fastify-authn before you call Fastify().',
    )
  }
  const record = listen(root)
  records.set(root, record)
  return record
}

function listen(root: FastifyInstance): AppRecord {
  const record: AppRecord = {
    root,
    instances: [root],
    routes: [],
    scopes: [],
    undefinedHooks: [],
    registered: new Set(),
    audits: new Map(),
    isProtected: false,
    isCorsFirst: false,
    isReady: false,
    hashing: null,
    throttles: [],
  }
  root.addHook('onRoute', function declare(this: FastifyInstance, options) {
    record.routes.push(declareRoute(options, this, record.routes))
  })
  root.addHook('onReady', (done) => {
    // Another copy of the package may be the one that is registered.
    const isRegistered = record.instances.some((each) => each.hasPlugin('fastify-authn'))
    if (!isRegistered) warnUnregistered(record)
    done()
  })
  root.addHook('onRegister', (instance, options: object) => {
    record.instances.push(instance)
    const scope = scopeOf(options)
    if (scope === null) return
    addScope(record, scope)
    if (scope.mark !== undefined) markScope(instance, scope.mark)
  })
  const describe = describeRoutes(root)
  watchRegister(root, (plugin, options, isComputed, isLate) => {
    const scope = voidScopeOf(plugin, options, isComputed)
    // Nothing would catch an error that is thrown late, so these scopes are checked when the app gets ready.
    if (scope !== null && isLate) record.scopes.push(scope)
    else if (scope !== null) addScope(record, scope)
    const { prefix } = (options ?? {}) as { prefix?: unknown }
    const place = `app.register(…, { prefix: ${JSON.stringify(prefix)} })`
    const hooks = undefinedHooks(options ?? {})
    record.undefinedHooks.push(...hooks.map((hook) => `${hook} of ${place}`))
    return describe(plugin, options)
  })
  return record
}

function addScope(record: AppRecord, scope: MarkedScope): void {
  if (record.isProtected) checkScope(scope)
  record.scopes.push(scope)
}

/**
 * Calls back for every plugin that is registered in an app. The hook `onRegister` is not enough: it is not called for
 * plugins without a scope of their own, and does not get the options that a function returns.
 *
 * @param look - returns the options to use. `isComputed`: they came from a function. `isLate`: `app.register` has
 * returned already, so that nothing would catch an error that is thrown
 */
function watchRegister(
  root: FastifyInstance,
  look: (plugin: unknown, options: unknown, isComputed: boolean, isLate: boolean) => unknown,
): void {
  wrapRegister(root, (given, options, register) => {
    let plugin = given
    if (typeof options === 'function') {
      const loaded = isThenable(given) ? given.then((module) => (plugin = module)) : given
      const compute = options as (parent: FastifyInstance) => unknown
      return register(loaded, (parent: FastifyInstance) =>
        look(plugin, compute(parent), true, true),
      )
    }
    if (!isThenable(given)) return register(given, look(plugin, options, false, false))
    // A plugin from `import()` is known later, and its options are changed then.
    const own = { ...(options as object | undefined) }
    const loaded = given.then((module: unknown) => {
      Object.assign(own, look(module, own, false, true))
      return module
    })
    return register(loaded, own)
  })
}

/** The mark in the options of an `app.register`, which all routes inside inherit. */
interface MarkedScope {
  readonly mark: unknown
  readonly prefix: unknown
  /** Whether Fastify makes no scope for this plugin, so that the mark has no effect. */
  readonly isVoid: boolean
}

/** @throws ERR_AUTH_MARK for a mark that is not valid or has no effect */
function checkScope({ mark, prefix, isVoid }: MarkedScope): void {
  const place = `app.register(…, { prefix: ${JSON.stringify(prefix)}, auth })`
  if (mark === undefined) {
    wrongMark(
      `${place}: found auth: undefined, which has no effect, so the routes inside would be open; expected a mark such as auth: true, or none.`,
    )
  }
  parseMark(mark, place)
  if (!isVoid) return
  wrongMark(
    `${place}: the mark has no effect, since the plugin is wrapped by fastify-plugin (as @fastify/autoload is) or its options are a function. Mark its routes, register it inside of a plain plugin that is marked, or with @fastify/autoload write { dir, options: { auth } }.`,
  )
}

/** The mark of a scope that Fastify makes, read from its options; null when there is none. */
function scopeOf(options: object): MarkedScope | null {
  // Fastify takes the prefix of options that are an instance of a class too.
  const mark = declaredProperty(options, 'auth')
  if (mark === undefined && !Object.hasOwn(options, 'auth')) return null
  return { mark, prefix: declaredProperty(options, 'prefix'), isVoid: false }
}

/**
 * The mark in the options of a plugin that gets no scope, or whose options come from a function: there it has no
 * effect. Other plugins have an option `auth` too, so only values that are marks are found.
 */
function voidScopeOf(plugin: unknown, options: unknown, isComputed: boolean): MarkedScope | null {
  const isOurs = nameOfPlugin(plugin) === 'fastify-authn'
  if (isOurs || typeof options !== 'object' || options === null) return null
  if (!isComputed && !isShared(plugin)) return null
  const mark = declaredProperty(options, 'auth')
  return isMark(mark) ? { mark, prefix: declaredProperty(options, 'prefix'), isVoid: true } : null
}

/**
 * Adds the guard to an app, once, as one hook of its root: a marked route outside of the plugin's scope must not be
 * open, and a hook for each route would miss the routes that were declared before the plugin.
 *
 * @throws ERR_AUTH_MARK for a mark that is not valid; when the app gets ready, for a mark without an authenticator
 */
export function protectApp(record: AppRecord): void {
  if (record.isProtected) return
  const { root } = record
  record.isProtected = true
  record.isCorsFirst = hasCors(root)
  record.scopes.forEach(checkScope)
  root.addHook('onRequest', guard)
  root.addHook('onReady', function check(done) {
    try {
      record.scopes.splice(0).forEach(checkScope)
      checkRoutes(record)
      record.isReady = true
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}
