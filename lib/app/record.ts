import type { FastifyInstance } from 'fastify'
import { isThenable } from '../common/objects.js'
import { wrongMark } from '../errors.js'
import { guard } from '../guard/attempt.js'
import { markScope } from '../marks/mark.js'
import { describeRoutes } from '../openapi/swagger.js'
import { hasCors, hasDeclarations, onInstance, rootOf, wrapRegister } from './fastify.js'
import { checkRoutes, warnUnregistered } from './ready.js'
import { declareRoute, type DeclaredOptions, type DeclaredRoute } from './routes.js'
import { checkScope, scopeOf, voidScopeOf, type MarkedScope } from './scopes.js'
import type { SharedTools } from '../passwords/tools.js'
import type { AuditOptions } from '../../types/options.js'

/** What is known of an app: a Fastify root instance with all its scopes. */
export interface AppRecord extends SharedTools {
  readonly root: FastifyInstance
  /** The root and all scopes. */
  readonly instances: FastifyInstance[]
  readonly routes: DeclaredRoute[]
  /** Marked scopes that were not checked yet. */
  readonly scopes: MarkedScope[]
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

// Every app that is made from now on is recorded, since routes and scopes that are declared before the plugin is
// registered have to be known too. In an app that never registers the plugin, this has no effect.
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
    registered: new Set(),
    audits: new Map(),
    isProtected: false,
    isCorsFirst: false,
    isReady: false,
    hashing: null,
    throttles: [],
  }
  root.addHook('onRoute', function declare(this: FastifyInstance, options) {
    record.routes.push(declareRoute(options as DeclaredOptions, this, record.routes))
  })
  root.addHook('onReady', (done) => {
    if (!record.isProtected) warnUnregistered(record)
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
    // An error cannot be thrown late: these scopes are checked when the app gets ready.
    if (scope !== null && isLate) record.scopes.push(scope)
    else if (scope !== null) addScope(record, scope)
    return describe(plugin, options)
  })
  return record
}

function addScope(record: AppRecord, scope: MarkedScope): void {
  if (record.isProtected) checkScope(scope)
  record.scopes.push(scope)
}

/**
 * Looks at every plugin that is registered in an app. The hook `onRegister` is not enough: it is not called for plugins
 * without a scope of their own, and does not get the options that a function returns.
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

/**
 * Adds the guard to an app, once, as one hook of its root. Of the root, because a marked route outside of the plugin's
 * scope must not be open. One hook, because hooks that are added to each route when it is declared would miss the routes
 * declared before.
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
