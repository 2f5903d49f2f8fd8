import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { ownProperty } from '../common/objects.js'
import { wrongMark } from '../errors/errors.js'
import { kDecision, type Decision } from '../guard/decision.js'
import { isAutomaticHead, isCorsPreflight, urlsOf } from './fastify.js'
import { checkPlaces, markIn, routeName, scopeMarkOf, parseMark } from '../marks/mark.js'
import { pluginRouteOf } from '../http/plugin-route.js'
import { throwTaken } from '../login/plugin-routes.js'
import { policyOf } from '../guard/policy.js'
import type { RoutePolicy } from '../feature.js'
import { registeredByOther, registrationOf } from '../request/registration.js'

type DeclaredOptions = RouteOptions & { readonly routePath: string }

/** A route of an app. Its options are read when the app is ready, because hooks of other plugins may change them. */
export interface DeclaredRoute extends Decision {
  readonly options: DeclaredOptions
  readonly server: FastifyInstance
  /** The URL that `onRoute` got: see {@link urlsOf}. */
  readonly url: string
  /** The GET route to which Fastify added this HEAD route. */
  readonly get: DeclaredRoute | undefined
  /** Whether the app's own `config` object has another mark than its copy: one that it got since, or that is inherited. */
  readonly isChanged: () => boolean
  /** All routes of the app that are known until now. */
  readonly all: readonly DeclaredRoute[]
  /** The {@link undefinedHooks} of the route, found before hooks of other plugins replace them. */
  readonly undefinedHooks: readonly string[]
}

/** Records a route, in an `onRoute` hook. @throws ERR_AUTH_OPTION for one that the plugin has declared itself */
export function declareRoute(
  options: DeclaredOptions,
  server: FastifyInstance,
  others: readonly DeclaredRoute[],
): DeclaredRoute {
  const { config: given, url } = options
  requireFree(options, server, others)
  const isCopy = given !== undefined && kDecision in given
  const own = given as { readonly auth?: unknown } | undefined
  const config = Object.assign({}, given)
  const mark = markIn(config)
  const route: DeclaredRoute = {
    options,
    server,
    url,
    get: isAutomaticHead(options) ? getRouteOf(options, server, url, others) : undefined,
    isChanged: () => !isCopy && own?.auth !== mark,
    all: others,
    undefinedHooks: undefinedHooks(options),
    policy: undefined,
  }
  options.config = Object.assign(config, { [kDecision]: route })
  return route
}

/** The hooks that often protect a route, as far as they are given and undefined: `preValidation: app.authenticate`. */
export function undefinedHooks(options: object): string[] {
  const hooks = ['onRequest', 'preValidation', 'preHandler']
  return hooks.filter((hook) => Object.hasOwn(options, hook) && !ownProperty(options, hook))
}

/** A path as the router compares it, at most: without the names of parameters. */
const shapeOf = (url: string): string => url.toLowerCase().replaceAll(/:[^/]+/g, ':')

/** Fastify's own error for a route that is declared twice does not say how to move the plugin's. */
function requireFree(
  { method, url, constraints = {} }: DeclaredOptions,
  server: FastifyInstance,
  others: readonly DeclaredRoute[],
): void {
  const shape = shapeOf(url)
  for (const other of others) {
    const own = pluginRouteOf(other.options)
    // In this order, since an app may have thousands of routes.
    if (own === undefined || shapeOf(other.url) !== shape) continue
    const isOurs = methodsOf(method).includes(own.method)
    if (isOurs && server.hasRoute({ method: own.method, url, constraints })) throwTaken(own, url)
  }
}

/**
 * The GET route of a HEAD route, which most often is the last one: with the same constraints, since a hook may have declared
 * other versions of it in between; or else any, since a hook may have changed the constraints of the GET route.
 */
function getRouteOf(
  { constraints }: RouteOptions,
  server: FastifyInstance,
  url: string,
  others: readonly DeclaredRoute[],
): DeclaredRoute | undefined {
  const isGet = (route: DeclaredRoute): boolean =>
    route.server === server &&
    methodsOf(route.options.method).includes('GET') &&
    [route.url, ...urlsOf(route.options, route.url)].includes(url)
  const hasSame = ({ options }: DeclaredRoute): boolean =>
    options.constraints === constraints ||
    isDeepStrictEqual(options.constraints ?? {}, constraints ?? {})
  return others.findLast((route) => isGet(route) && hasSame(route)) ?? others.findLast(isGet)
}

export function routeOf(config: object | undefined): DeclaredRoute | undefined {
  const decided: { readonly [kDecision]?: DeclaredRoute } = config ?? {}
  return decided[kDecision]
}

/** Null for an open route. @throws ERR_AUTH_MARK for a mark that is invalid or has no effect */
export function decide(route: DeclaredRoute): RoutePolicy | null {
  const { options, server } = route
  const place = routeName(options)
  if (route.isChanged() || routeOf(options.config) !== route) {
    wrongMark(
      `${place}: the mark has no effect, because config was changed after the route was declared, or replaced by an onRoute hook of another plugin. Put the mark into config where the route is declared; a hook must keep what is there: { ...routeOptions.config }.`,
    )
  }
  checkPlaces(options)
  const mark = markOf(route)
  if (mark === undefined || parseMark(mark, place).mode === false) return null
  const registration = registrationOf(server)
  const other = registeredByOther(server)
  if (registration === undefined || (other !== '' && routeMark(route) !== undefined)) {
    const problem = registration
      ? 'two registrations read its mark, and a request would need the credentials of both.'
      : 'the route has a mark, but the plugin is not registered in its scope or in one around it. Register the plugin there (most apps register it once, at the root).'
    wrongMark(`${place}: ${problem}${other}`)
  }
  return policyOf(mark, place, registration)
}

/** The mark that applies to a route: its own, otherwise that of the nearest scope. */
export function markOf(route: DeclaredRoute): unknown {
  const own = routeMark(route)
  const isInherited = own === undefined && !isCorsPreflight(route.options, route.server)
  return isInherited ? scopeMarkOf(route.server)?.mark : own
}

/** The mark on a route itself; for a HEAD route that Fastify added, the mark on its GET route. */
export function routeMark({ options, get }: DeclaredRoute): unknown {
  return markIn(get?.options.config) ?? markIn(options.config)
}

/** Whether API documents leave a route out. */
export function isHidden({ options: { schema } }: DeclaredRoute): boolean {
  return (schema as { hide?: unknown } | undefined)?.hide === true
}

export function methodsOf(method: string | readonly string[]): string[] {
  return [method].flat().toSorted()
}
