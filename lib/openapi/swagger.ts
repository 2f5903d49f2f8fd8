import type { FastifyInstance } from 'fastify'
import { loadFirst, nameOfPlugin, onRouteFirst } from '../app/fastify.js'
import type { Transform } from './transform.js'

const swagger = '@fastify/swagger'
/** Transforms that were made here, so that none is wrapped twice. */
const ours = new WeakSet<Transform>()

/** Loaded when a transform is made, and awaited before the app is ready. */
let describe: typeof import('./transform.js').transform
let loading: Promise<void> | undefined

/** Wraps the option `transform` of every @fastify/swagger. Schemas that validate and serialize are not changed. */
export function describeRoutes(
  root: FastifyInstance,
  scopes: readonly FastifyInstance[],
): (plugin: unknown, options: unknown) => unknown {
  let isWrapped = false
  onRouteFirst(scopes, (options) => {
    // A route's own transform is used in place of the general one.
    const config = options.config as { swaggerTransform?: Transform | false } | undefined
    if (config?.swaggerTransform === undefined) return
    const swaggerTransform = describing(config.swaggerTransform || null)
    Object.assign(options, { config: { ...config, swaggerTransform } })
  })
  root.addHook('onReady', async () => {
    if (root.hasPlugin(swagger) && !isWrapped) {
      root.log.warn(
        `${swagger} was registered before fastify-authn was loaded, so its document does not show the access to routes. ${loadFirst}`,
      )
    }
    await loading
  })
  return (plugin, options) => {
    if (nameOfPlugin(plugin) !== swagger) return options
    isWrapped = true
    const given = (options ?? {}) as { mode?: string; transform?: Transform | null }
    // A static document is a file of the app, which is not changed.
    if (given.mode === 'static') return given
    return { ...given, transform: describing(given.transform ?? null) }
  }

  function describing(appTransform: Transform | null): Transform {
    if (appTransform !== null && ours.has(appTransform)) return appTransform
    loading ??= import('./transform.js').then(({ transform }) => void (describe = transform))
    const transform: Transform = (input) => describe(appTransform, input)
    ours.add(transform)
    return transform
  }
}
