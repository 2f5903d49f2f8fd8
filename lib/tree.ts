import type { FastifyInstance, RouteOptions } from 'fastify'
import { guard, routeName, scopeMarkOf, unguarded } from './guard.js'
import { parseMark } from './marks.js'
import { registrationOf, type Registration } from './registration.js'
import { kGuarded, kScopeMark } from './symbols.js'
import type { HashingHolder } from './password-tools.js'

interface DeclaredRoute {
  readonly options: RouteOptions
  readonly server: FastifyInstance
}

/** What the registrations in one tree of Fastify instances share. */
export interface Tree extends HashingHolder {
  readonly registrations: Set<Registration>
  /** URLs of our login routes. */
  readonly logins: Set<string>
}

/**
 * Puts the guard in front of a whole tree of Fastify instances, once, from its root. From the root,
 * because a route that is marked but lies beside the scope of the plugin must not be open; and as one
 * global hook, because hooks that are put on routes as they are declared miss those declared before.
 */
export function protectTree(app: FastifyInstance): Tree {
  const root = rootOf(app) as FastifyInstance & { [kGuarded]?: Tree }
  if (root[kGuarded] !== undefined) return root[kGuarded]
  const tree: Tree = { registrations: new Set(), logins: new Set(), hashing: null }
  root[kGuarded] = tree
  const routes: DeclaredRoute[] = []

  root.addHook('onRequest', guard)
  root.addHook('onRegister', (instance, options: { auth?: unknown; prefix?: unknown }) => {
    const { auth, prefix } = options
    if (auth === undefined) return
    parseMark(auth, `app.register(…, { prefix: ${JSON.stringify(prefix)}, auth })`)
    Object.defineProperty(instance, kScopeMark, { value: auth, configurable: true, writable: true })
  })
  root.addHook('onRoute', function remember(this: FastifyInstance, options) {
    const mark: unknown = options.config?.auth
    if (mark !== undefined) parseMark(mark, routeName(options.method, options.url))
    routes.push({ options, server: this })
  })
  root.addHook('onReady', function audit(done) {
    try {
      for (const route of routes.splice(0)) auditRoute(route)
      auditEarlyRoutes(root, tree)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
  return tree
}

/** Scopes inherit from the scope around them. */
function rootOf(app: FastifyInstance): FastifyInstance {
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

/** Every marked route must have an authenticator that judges its requests. */
function auditRoute({ options, server }: DeclaredRoute): void {
  const mark: unknown = options.config?.auth ?? scopeMarkOf(server)
  if (mark === undefined || mark === false) return
  const registration = registrationOf(server)
  if (registration === undefined) throw unguarded(options.method, options.url)
  registration.plan(mark, routeName(options.method, options.url))
}

/**
 * The marks of routes that were declared before the plugin was loaded, of which `onRoute` never told:
 * Fastify lists them with their `config` in a line of JSON each. What cannot be read here is judged
 * when a request comes, and fails closed.
 */
function auditEarlyRoutes(root: FastifyInstance, { registrations }: Tree): void {
  for (const { auth, method, url } of listedConfigs(root)) {
    if (auth === undefined) continue
    const place = routeName(method, url)
    parseMark(auth, place)
    const errors = [...registrations].map((registration) => planError(registration, auth, place))
    if (errors.every((error) => error !== null)) throw errors[0] as Error
  }
}

function planError(registration: Registration, mark: unknown, place: string): unknown {
  try {
    registration.plan(mark, place)
    return null
  } catch (error) {
    return error
  }
}

function listedConfigs(
  root: FastifyInstance,
): { auth?: unknown; method?: unknown; url?: unknown }[] {
  let listing = ''
  try {
    listing = root.printRoutes({ includeMeta: ['config'], commonPrefix: false })
  } catch {
    // A config that JSON cannot express, such as a circular one.
  }
  return [...listing.matchAll(/• \(config\) (\{.*\})$/gm)].map(
    ([, json]) => JSON.parse(json as string) as object,
  )
}
