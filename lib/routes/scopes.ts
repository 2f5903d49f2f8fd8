import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { isMark, parseMark } from '../marks.js'
import { isThenable } from '../objects.js'
import { nameOfPlugin, propertyOfPlugin } from '../plugin-names.js'

/** A scope that carries a mark in the options of its `app.register`. */
export interface MarkedScope {
  readonly mark: unknown
  readonly prefix: unknown
  /** Whether Fastify never makes this scope, so that its mark has no effect. */
  readonly isVoid: boolean
}

/** @throws ERR_AUTH_MARK for a mark that is none, or that has no effect */
export function checkScope({ mark, prefix, isVoid }: MarkedScope): void {
  const place = `app.register(…, { prefix: ${JSON.stringify(prefix)}, auth })`
  parseMark(mark, place)
  if (!isVoid) return
  throw new AuthnUsageError(
    'ERR_AUTH_MARK',
    `${place}: the mark has no effect, since the plugin is wrapped by fastify-plugin (as @fastify/autoload is) or its options are a function. Mark its routes, register it inside of a plain plugin that is marked, or with @fastify/autoload write { dir, options: { auth } }.`,
  )
}

/**
 * Looks for marks without effect. A plugin that is wrapped by fastify-plugin has no scope of its own, and
 * `onRegister` does not tell of it; nor does it tell of options that are a function.
 *
 * @param found - may throw
 * @param foundLate - must not: what it throws would not be caught
 */
export function watchRegister(
  root: FastifyInstance,
  found: (scope: MarkedScope) => void,
  foundLate: (scope: MarkedScope) => void,
): void {
  const { register } = root as { register: (plugin: unknown, options?: unknown) => unknown }
  function watched(this: FastifyInstance, given: unknown, options?: unknown): unknown {
    let plugin = given
    const look = (report: (scope: MarkedScope) => void): void => {
      const scope = isShared(plugin) ? voidScope(options) : null
      if (scope !== null) report(scope)
    }
    const loaded = isThenable(given)
      ? given.then((module: unknown) => {
          // What an `import()` is shows only now.
          plugin = module
          look(foundLate)
          return module
        })
      : given
    if (typeof options !== 'function') {
      look(found)
      return register.call(this, loaded, options)
    }
    return register.call(this, loaded, (instance: FastifyInstance): unknown => {
      const resolved: unknown = (options as (instance: FastifyInstance) => unknown)(instance)
      const scope = isOurs(plugin) ? null : voidScope(resolved)
      if (scope !== null) foundLate(scope)
      return resolved
    })
  }
  root.register = watched as never
}

/** Other plugins have an option `auth` of their own, which is none of our business. */
function voidScope(options: unknown): MarkedScope | null {
  const { auth: mark, prefix } = (options ?? {}) as { auth?: unknown; prefix?: unknown }
  return mark !== undefined && isMark(mark) ? { mark, prefix, isVoid: true } : null
}

/** Whether a plugin shares the scope around it, and is not this one. */
function isShared(plugin: unknown): boolean {
  return Boolean(propertyOfPlugin(plugin, Symbol.for('skip-override'))) && !isOurs(plugin)
}

function isOurs(plugin: unknown): boolean {
  return nameOfPlugin(plugin) === 'fastify-authn'
}
