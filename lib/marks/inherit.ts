import type { FastifyInstance, RouteOptions } from 'fastify'
import { wrongMark } from '../errors.js'
import { ownProperty } from '../common/objects.js'

const kScopeMark = Symbol('fastify-authn.scope-mark')

interface Marked {
  [kScopeMark]?: { readonly scope: FastifyInstance; readonly mark: unknown }
}

/** Gives a scope its mark. */
export function markScope(scope: FastifyInstance, mark: unknown): void {
  const marked = scope as Marked
  marked[kScopeMark] = { scope, mark }
}

/** The mark of a scope, inherited by the scopes inside it. */
export function scopeMarkOf(server: FastifyInstance): unknown {
  return (server as Marked)[kScopeMark]?.mark
}

/** The scope whose mark a scope has: itself or one around it; null where there is no mark. */
export function markedScopeOf(server: FastifyInstance): FastifyInstance | null {
  return (server as Marked)[kScopeMark]?.scope ?? null
}

/** The mark in the `config` of a route. */
export function ownMark(config: object | null | undefined): unknown {
  return config ? ownProperty(config, 'auth') : undefined
}

/** The name of a route in errors. */
export function routeName({ method, url }: Pick<RouteOptions, 'method' | 'url'>): string {
  return `route ${[method].flat().join()} ${url}, config.auth`
}

/**
 * Refuses a mark in a place where it would have no effect: `auth` beside `config` or in `schema`, `config.auth: undefined`,
 * and `scope` or `role` beside the mark instead of inside of it.
 *
 * @param around - the mark of the scope of the route
 * @throws ERR_AUTH_MARK
 */
export function checkPlaces(options: RouteOptions, around: unknown): void {
  const { config = {}, schema = {} } = options
  const isMarked = ownMark(config) !== undefined
  const beside =
    isMarked || (around !== undefined && around !== false)
      ? (['scope', 'role'] as const).find((key) => Object.hasOwn(config, key))
      : undefined
  if (beside !== undefined) {
    wrongMark(
      `${routeName(options)}: found config.${beside} ${isMarked ? 'beside' : 'without'} config.auth, where it has no effect; expected it in the mark of the route: config: { auth: { ${beside}: '…' } }. If config.${beside} means something else, rename it.`,
    )
  }
  if (isMarked) return
  const found = Object.hasOwn(config, 'auth')
    ? 'config.auth: undefined'
    : ownProperty(options, 'auth') !== undefined
      ? 'the option auth of the route itself'
      : ownProperty(schema as object, 'auth') !== undefined && 'schema.auth'
  if (!found) return
  wrongMark(
    `${routeName(options)}: found ${found}, which has no effect, so the route would be open; expected the mark in config: app.get('/path', { config: { auth: true } }, handler). For an open route write { auth: false } there.`,
  )
}
