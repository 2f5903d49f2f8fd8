import type { FastifyInstance, RouteOptions } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { routeName, scopeMarkOf, unguarded } from '../guard.js'
import { parseMark } from '../marks.js'
import { registrationOf } from '../registration.js'

/** A route as `onRoute` told of it. Its options are read late: hooks of other plugins may change them. */
export interface DeclaredRoute {
  readonly options: RouteOptions & { readonly routePath: string }
  readonly server: FastifyInstance
  /** The URL under which it was heard of: see {@link urlsOf}. */
  readonly url: string
  /** The mark on it when Fastify made it, which is the one that requests meet. */
  mark: unknown
}

/** @param options - as `onRoute` tells of them */
export function declared(
  options: DeclaredRoute['options'],
  server: FastifyInstance,
): DeclaredRoute {
  const route: DeclaredRoute = { options, server, url: options.url, mark: undefined }
  // Other hooks come first, and then Fastify copies what the configuration holds itself: all that at once.
  queueMicrotask(() => {
    route.mark = { ...options.config }.auth
  })
  return route
}

/** What is kept of a route once the app is ready, for the report: its options would keep schemas alive. */
export interface KeptRoute {
  readonly server: FastifyInstance
  readonly method: string | readonly string[]
  readonly url: string
  readonly constraints: Readonly<Record<string, unknown>> | undefined
  /** The mark on the route itself. */
  readonly mark: unknown
  readonly isAutomaticHead: boolean
}

/** @throws ERR_AUTH_MARK for a mark that is none */
export function checkRoute({ options }: DeclaredRoute): void {
  const mark: unknown = options.config?.auth
  if (mark !== undefined) parseMark(mark, routeName(options.method, options.url))
}

/**
 * Every marked route must have an authenticator that judges its requests.
 *
 * @throws ERR_AUTH_MARK; also for a mark that Fastify has not seen
 */
export function auditRoute({ options, server, mark: made }: DeclaredRoute): void {
  const own: unknown = options.config?.auth
  if (own !== made) throw voidMark(options)
  const mark = markOf(own, server)
  if (mark === undefined || mark === false) return
  const registration = registrationOf(server)
  if (registration === undefined) throw unguarded(options.method, options.url)
  registration.plan(mark, routeName(options.method, options.url))
}

function voidMark({ method, url }: RouteOptions): AuthnUsageError {
  return new AuthnUsageError(
    'ERR_AUTH_MARK',
    `${routeName(method, url)}: the mark has no effect, since it was changed after the route was declared, or is no enumerable property of config itself. Put it into config where the route is declared, or in an onRoute hook.`,
  )
}

/** The mark that counts: the one on the route, or else the one of the scope that is nearest. */
export function markOf(own: unknown, server: FastifyInstance): unknown {
  return own === undefined ? scopeMarkOf(server) : own
}

/** What is kept of a route, one row a URL. */
export function keep(route: DeclaredRoute): KeptRoute[] {
  const { options, server } = route
  const { method, constraints } = options
  const mark: unknown = options.config?.auth
  const isAutomaticHead = isAutomatic(options)
  return urlsOf(route).map((url) => ({ server, method, url, constraints, mark, isAutomaticHead }))
}

/**
 * The URLs of a route. A route `/` in a scope with a prefix is two by default (`prefixTrailingSlash`), `/notes` and
 * `/notes/`. Fastify tells of the first one only, and then makes the second one out of the same options.
 */
export function urlsOf({ options, url }: DeclaredRoute): string[] {
  const isTwo = options.routePath === '/' && options.url === `${url}/`
  return isTwo ? [url, options.url] : [options.url]
}

/** Whether Fastify made the route out of a GET route: known by the handler that drops the body. */
export function isAutomatic({ method, onSend }: RouteOptions): boolean {
  const last = [onSend].flat().at(-1)
  return method === 'HEAD' && last?.name === 'headRouteOnSendHandler'
}

/** Whether a scope is another one, or lies inside of it. */
export function isWithin(server: FastifyInstance, scope: FastifyInstance): boolean {
  return server === scope || Object.prototype.isPrototypeOf.call(scope, server)
}

/** Methods as a sorted list. */
export function methodsOf(method: string | readonly string[]): string[] {
  return [method].flat().toSorted()
}
