import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { ownOf, propertyOf } from '../common/objects.js'
import { AuthnUsageError } from '../errors.js'
import { ownMark, scopeMarkOf } from '../marks/inherit.js'
import { isAutomaticHead, isCorsPreflight, urlsOf } from './fastify.js'
import type { Plan } from '../marks/plan.js'
import type { Decision } from '../registration.js'
import type { MisuseCode } from '../../types/errors.js'

/** The key of a route's token in its `config`. Fastify copies the `config`, and the token with it. */
const kRoute: unique symbol = Symbol.for('fastify-authn.route')

/** A route as `onRoute` got it. Its options are read late, because hooks of other plugins may change them. */
export interface DeclaredRoute {
  readonly options: RouteOptions & { readonly routePath: string }
  readonly server: FastifyInstance
  /** The URL that `onRoute` got: see {@link urlsOf}. */
  readonly url: string
  /** An object that identifies the route in its `config`. */
  readonly token: object
  /** The GET route to which Fastify added this HEAD route. */
  readonly get: DeclaredRoute | undefined
  /** The mark in the `config` at the time when Fastify copied it. */
  made: unknown
  /** Whether the mark in the app's own `config` object was changed after the route was declared. */
  readonly isGivenChanged: () => boolean
}

/**
 * @param options - the options that `onRoute` got
 * @param others - the routes declared before
 */
export function declared(
  options: DeclaredRoute['options'],
  server: FastifyInstance,
  others: readonly DeclaredRoute[],
): DeclaredRoute {
  const { config: given, url } = options
  const isOfApp = given !== undefined && !Object.hasOwn(given, kRoute)
  const taken = ownMark({ ...given })
  const route: DeclaredRoute = {
    options,
    server,
    url,
    token: Object.freeze({}),
    get: isAutomaticHead(options) ? getOf(options, server, url, others) : undefined,
    made: undefined,
    isGivenChanged: () => isOfApp && propertyOf(given, 'auth') !== taken,
  }
  putToken(route)
  return route
}

/**
 * The GET route of which Fastify made a HEAD route: the one with its constraints, since a hook may have declared
 * another version of the route in between; or else the last one, since a hook may have changed the constraints.
 */
function getOf(
  { constraints }: RouteOptions,
  server: FastifyInstance,
  url: string,
  others: readonly DeclaredRoute[],
): DeclaredRoute | undefined {
  const isGet = (route: DeclaredRoute): boolean =>
    route.server === server &&
    methodsOf(route.options.method).includes('GET') &&
    [route.url, ...urlsOf(route.options, route.url)].includes(url)
  const isAlike = ({ options }: DeclaredRoute): boolean =>
    isDeepStrictEqual(options.constraints ?? {}, constraints ?? {})
  // From the end, where the GET mostly stands: an app may have thousands of routes.
  return others.findLast((route) => isGet(route) && isAlike(route)) ?? others.findLast(isGet)
}

/**
 * Puts the token of a route into its `config`, also when hooks of the app replace the `config` later. The token is a
 * getter: it is read when Fastify copies the `config`, after all hooks, and then records the mark that is copied.
 */
function putToken(route: DeclaredRoute): void {
  const withToken = (config: object | undefined): object =>
    Object.defineProperty({ ...config }, kRoute, {
      get(this: object) {
        route.made = ownMark(this)
        return route.token
      },
      enumerable: true,
      configurable: true,
    })
  let config = withToken(route.options.config)
  Object.defineProperty(route.options, 'config', {
    get: () => config,
    set: (replaced: object | undefined) => {
      config = withToken(replaced)
    },
    enumerable: true,
    configurable: true,
  })
}

/** The token in the `config` of a route. */
export function tokenOf(config: object | undefined): object | undefined {
  return config && (ownOf(config, kRoute) as object | undefined)
}

/** The mark on a route itself; for a HEAD route that Fastify added, the mark on its GET route. */
export function routeMark({ options, get }: Pick<DeclaredRoute, 'options' | 'get'>): unknown {
  return ownMark(get?.options.config) ?? ownMark(options.config)
}

/** The mark that applies: that of the route, otherwise that of the nearest scope. */
export function markOf(own: unknown, server: FastifyInstance): unknown {
  return own === undefined ? scopeMarkOf(server) : own
}

/** What is kept of a route for the report. Its options are not kept, as they would keep schemas in memory. */
export interface KeptRoute {
  readonly server: FastifyInstance
  readonly method: string | readonly string[]
  readonly url: string
  readonly constraints: Readonly<Record<string, unknown>> | undefined
  /** The mark on the route itself. */
  readonly mark: unknown
  readonly plan: Plan | null
  readonly isAutomaticHead: boolean
  /** See {@link isCorsPreflight}. */
  readonly isPreflight: boolean
}

/** The rows of a route for the report: one for each URL. */
export function keep(route: DeclaredRoute, { plan }: Decision): KeptRoute[] {
  const { options, server } = route
  const { method, constraints } = options
  const facts = {
    server,
    method,
    constraints,
    mark: routeMark(route),
    plan,
    isAutomaticHead: isAutomaticHead(options),
    isPreflight: isCorsPreflight(options, server),
  }
  return urlsOf(options, route.url).map((url) => ({ url, ...facts }))
}

/** Methods as a sorted list. */
export function methodsOf(method: string | readonly string[]): string[] {
  return [method].flat().toSorted()
}

/** @returns the error of a feature that needs all routes, when some were declared before the package was loaded */
export function missedError(code: MisuseCode, place: string): AuthnUsageError {
  return new AuthnUsageError(
    code,
    `${place}: the package was loaded after routes had been declared, so it does not know them all. Load fastify-authn before you call Fastify().`,
  )
}
