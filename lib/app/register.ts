import type { FastifyInstance } from 'fastify'
import { isThenable } from '../common/objects.js'
import { wrapMethod } from './fastify.js'

/** A call of `app.register`, with the plugin and its options known. */
export interface Registered {
  readonly plugin: unknown
  readonly options: unknown
  /** Whether the options came from a function: `onRegister` then does not get them. */
  readonly isComputed: boolean
  /** Whether `app.register` has already returned: an error thrown now would not be caught. */
  readonly isLate: boolean
}

/**
 * Looks at every plugin that is registered in a tree of Fastify instances. The hook `onRegister` is not enough: it is
 * not called for plugins without a scope of their own, and does not get the options that a function returns.
 *
 * @param look - returns the options to use; it may throw only when `isLate` is false
 */
export function watchRegister(
  root: FastifyInstance,
  look: (registered: Registered) => unknown,
): void {
  wrapMethod(root, 'register', (_, [given, options], register) => {
    let plugin = given
    if (typeof options === 'function') {
      const loaded = isThenable(given) ? given.then((module) => (plugin = module)) : given
      const compute = options as (parent: FastifyInstance) => unknown
      return register(loaded, (parent: FastifyInstance) =>
        look({ plugin, options: compute(parent), isComputed: true, isLate: true }),
      )
    }
    const facts = { isComputed: false, isLate: false }
    if (!isThenable(given)) return register(given, look({ plugin, options, ...facts }))
    // A plugin from `import()` is known later, and its options are changed then: in a copy, as they may be frozen.
    const own = { ...(options as object | undefined) }
    const loaded = given.then((module: unknown) => {
      Object.assign(own, look({ plugin: module, options: own, ...facts, isLate: true }))
      return module
    })
    return register(loaded, own)
  })
}
