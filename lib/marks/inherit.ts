import type { FastifyInstance } from 'fastify'
import { wrongMark } from '../errors.js'
import { ownOf } from '../common/objects.js'

/** The key of a scope's mark. A registered symbol, so that two copies of the package use the same one. */
export const kScopeMark: unique symbol = Symbol.for('fastify-authn.scope-mark')

/** Gives a scope its mark. */
export function markScope(scope: FastifyInstance, mark: unknown): void {
  Object.defineProperty(scope, kScopeMark, { value: mark, configurable: true })
}

/** The mark of a scope, inherited by the scopes inside it. */
export function scopeMarkOf(server: FastifyInstance): unknown {
  return (server as { [kScopeMark]?: unknown })[kScopeMark]
}

/** The mark in the `config` of a route. */
export function ownMark(config: object | null | undefined): unknown {
  return config ? ownOf(config, 'auth') : undefined
}

/** The name of a route in errors. */
export function routeName(method: unknown, url: unknown): string {
  return `route ${[method].flat().join(',')} ${String(url)}, config.auth`
}

/** Stops the boot for a marked route outside of every scope in which the plugin is registered. @throws ERR_AUTH_MARK */
export function unguarded(method: unknown, url: unknown): never {
  wrongMark(
    `${routeName(method, url)}: the route is marked, but the plugin is not registered in its scope or around it. Register the plugin there (most apps register it once, at the root).`,
  )
}
