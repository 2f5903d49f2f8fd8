import type { FastifyInstance, RouteOptions } from 'fastify'
import { declaredProperty, isDeclared } from '../common/objects.js'
import { wrongMark } from '../errors/errors.js'
import { guardAgain } from '../guard/again.js'
import { guard } from '../guard/guarded-request.js'
import { checkGroup, isMark, markScope, parseMark, scopeMarkOf } from '../marks/mark.js'
import { createRecord, type AppRecord } from './app-record.js'
import {
  bodylessMethods,
  configOf,
  hasCors,
  isShared,
  loadedLate,
  nameOfPlugin,
  onNewApp,
  onRouteFirst,
  rootOf,
  scopesWithoutRoutes,
  watchPlugins,
  watchRegister,
} from './fastify.js'
import { checkRoutes, warnUnregistered } from './ready.js'
import { declareRoute, methodsOf, undefinedHooks } from './routes.js'

const records = new WeakMap<FastifyInstance, AppRecord>()

/** Gets every plugin of an app with its options, and returns the options to use. `scopes`: those that exist. */
type Watch = (root: FastifyInstance, scopes: readonly FastifyInstance[]) => Look

type Look = (plugin: unknown, options: unknown) => unknown

let watchOf: Watch

/** Records every app made from now on: what it declares before it registers the plugin has to be known too. */
export function recordApps(watch: Watch): void {
  watchOf = watch
  onNewApp((root) => watchRegister(root, listen(root, [root]).look))
}

/** The record of an app. @throws ERR_AUTH_MARK where routes were declared before the package was loaded */
export function recordOf(app: FastifyInstance): AppRecord {
  const root = rootOf(app)
  const known = records.get(root)
  if (known !== undefined) return known
  const scopes = scopesWithoutRoutes(root)
  const { record, look } = listen(root, scopes)
  const unknown = new Set(scopes.slice(1))
  watchPlugins(app, ({ func, server, options }, isStarting) => {
    if (!isStarting && !isShared(func)) {
      unknown.delete(server)
      readScope(record, server, options as object)
    }
    // The hook onRegister has read the mark of a scope that starts, unless it comes from a function.
    return look(func, options, isStarting && scopeMarkOf(server)?.scope !== server, server)
  })
  root.addHook('onReady', async () => unknown.forEach((scope) => markScope(scope, unknownMark)))
  return record
}

/** No mark, so that startup fails for the routes that have no other. */
const unknownMark = `unknown, because ${loadedLate}`

function listen(root: FastifyInstance, scopes: readonly FastifyInstance[]) {
  const record = createRecord(root, scopes)
  const unguarded: RouteOptions[] = []
  records.set(root, record)
  const watching = watchOf(root, scopes)
  onRouteFirst(scopes, function declare(options) {
    record.routes.push(declareRoute(options, this, record.routes))
    if (!record.isProtected) return
    // Later, since an `onRoute` hook of another plugin may replace its hooks; and once for many, since `after()` takes long.
    if (unguarded.push(options) > 1) return
    void this.after(() => guardBodies(root, unguarded.splice(0)))
  })
  root.addHook('onReady', (done) => {
    // Another copy of the package may be the one that is registered.
    const isRegistered = record.instances.some((each) => each.hasPlugin('fastify-authn'))
    if (!isRegistered) warnUnregistered(record)
    done()
  })
  root.addHook('onRegister', (instance, options: object) => {
    record.instances.push(instance)
    readScope(record, instance, options)
  })
  function look(plugin: unknown, given: unknown, isComputed: boolean, server: FastifyInstance) {
    const own: object = given ?? {}
    if (!isShared(plugin)) record.groups.push({ options: own, server })
    if (hasVoidMark(plugin, own, isComputed)) {
      record.scopes.push({ options: own, mark: declaredProperty(own, 'auth'), isVoid: true })
    }
    const place = placeOf(own)
    record.undefinedHooks.push(...undefinedHooks(own).map((hook) => `${hook} of ${place}`))
    return watching(plugin, given)
  }
  return { record, look }
}

function readScope({ scopes }: AppRecord, scope: FastifyInstance, options: object): void {
  // The options may be an instance of a class.
  if (!isDeclared(options, 'auth')) return
  const mark = declaredProperty(options, 'auth')
  scopes.push({ options, mark, isVoid: false })
  // A mark that the plugin was registered with counts.
  if (scopeMarkOf(scope)?.scope !== scope) markScope(scope, mark)
}

function placeOf(options: object, more = ''): string {
  return `app.register(…, { prefix: ${JSON.stringify(declaredProperty(options, 'prefix'))}${more} })`
}

function checkScope({ options, mark, isVoid }: AppRecord['scopes'][number]): void {
  const place = placeOf(options, ', auth')
  if (mark === undefined) {
    wrongMark(
      `${place}: found auth: undefined, which has no effect, so the routes inside would be open; expected a mark such as auth: true, or none.`,
    )
  }
  parseMark(mark, place)
  if (!isVoid) return
  wrongMark(
    `${place}: the mark has no effect, because the plugin is wrapped by fastify-plugin (as @fastify/autoload is) or its options are a function. Mark its routes, register it inside a plain plugin with a mark, or with @fastify/autoload write { dir, options: { auth } }.`,
  )
}

/** Whether a mark has no effect. Other plugins have an option `auth` too, so only values that are marks are found. */
function hasVoidMark(plugin: unknown, options: object, isComputed: boolean): boolean {
  if (nameOfPlugin(plugin) === 'fastify-authn' || !(isComputed || isShared(plugin))) return false
  return isMark(declaredProperty(options, 'auth'))
}

/** Lets requests to routes be authenticated again after their body. Others pay nothing: each hook takes 1 % of a request. */
function guardBodies(root: FastifyInstance, routes: readonly RouteOptions[]): void {
  const bodyless = bodylessMethods(root)
  for (const options of routes) {
    if (methodsOf(options.method).every((method) => bodyless.has(method))) continue
    options.preValidation = [options.preValidation ?? [], guardAgain].flat()
  }
}

/**
 * Adds the guard to an app, once, as one hook of its root: a route with a mark outside of the plugin's scope must not
 * be open, and a hook for each route would miss the routes that were declared before the plugin.
 */
export function protectApp(record: AppRecord): void {
  if (record.isProtected) return
  const { root } = record
  record.isProtected = true
  record.isCorsFirst = hasCors(root)
  root.addHook('onRequest', (request, reply, done) =>
    guard(request, reply, done, configOf(request)),
  )
  guardBodies(
    root,
    record.routes.map(({ options }) => options),
  )
  root.addHook('onReady', async () => {
    record.scopes.forEach(checkScope)
    for (const { options, server } of record.groups) checkGroup(options, server, placeOf(options))
    checkRoutes(record)
    record.isReady = true
  })
}
