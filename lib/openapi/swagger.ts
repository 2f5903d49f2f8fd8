import type { FastifyInstance } from 'fastify'
import { nameOfPlugin } from '../app/fastify.js'
import type { Transform } from './transform.js'

const swagger = '@fastify/swagger'
/** The transforms that were made here, so that none is wrapped twice. */
const ours = new WeakSet<Transform>()

/** Loaded when a transform is made, and there before the app is ready. */
let writer: typeof import('./transform.js')
let loading: Promise<void> | undefined

async function load(): Promise<void> {
  writer = await import('./transform.js')
}

/**
 * Makes every @fastify/swagger in a tree of Fastify instances document who may call the routes: it wraps the option
 * `transform`. The schemas of the routes themselves, which validate and serialize, are not changed.
 *
 * @param root - the root of the tree, before anything is registered in it
 * @returns a function that changes the options of every plugin that is registered
 */
export function describeRoutes(
  root: FastifyInstance,
): (plugin: unknown, options: unknown) => unknown {
  let isWrapped = false
  root.addHook('onRoute', (options) => {
    // A route's own transform is used in place of the general one.
    const config = options.config as { swaggerTransform?: Transform | false } | undefined
    if (config?.swaggerTransform === undefined) return
    const swaggerTransform = describing(config.swaggerTransform || null)
    Object.assign(options, { config: { ...config, swaggerTransform } })
  })
  root.addHook('onReady', async () => {
    if (root.hasPlugin(swagger) && !isWrapped) {
      root.log.warn(
        `${swagger} was registered before fastify-authn was loaded, so its document does not tell who may call the routes. Import fastify-authn before you call Fastify().`,
      )
    }
    await loading
  })
  return (plugin, options) => {
    if (nameOfPlugin(plugin) !== swagger) return options
    isWrapped = true
    const given = (options ?? {}) as { mode?: string; transform?: Transform | null }
    // A static document is written by hand and is not changed.
    return given.mode === 'static'
      ? given
      : { ...given, transform: describing(given.transform ?? null) }
  }

  function describing(appTransform: Transform | null): Transform {
    if (appTransform !== null && ours.has(appTransform)) return appTransform
    loading ??= load()
    const transform: Transform = (input) => writer.transform(appTransform, input)
    ours.add(transform)
    return transform
  }
}
