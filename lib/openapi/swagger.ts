import type { FastifyInstance } from 'fastify'
import { nameOfPlugin } from '../app/fastify.js'
import { registrationOf, type Decision } from '../registration.js'
import { kFacts, type Route, type Transform, type TransformObject } from './facts.js'

/** The options of @fastify/swagger that are used here. */
interface SwaggerOptions {
  mode?: string
  transform?: Transform | null
  transformObject?: TransformObject | null
}

const swagger = '@fastify/swagger'
/** The transforms that we have made, so that none is wrapped twice. */
const ours = new WeakSet<object>()

/** What writes documents. It is loaded when a transform is made, and there before the app is ready. */
let room: typeof import('./transform.js')
let loading: Promise<void> | undefined

async function load(): Promise<void> {
  room = await import('./transform.js')
}

/**
 * Makes every @fastify/swagger in a tree of Fastify instances document who may call the routes. It wraps the options
 * `transform` and `transformObject` of @fastify/swagger. So the schemas of the routes themselves, which validate and
 * serialize, are not changed.
 *
 * @param root - the root of the tree, before anything is registered in it
 * @param decisionOf - returns the decision for the route that a `config` belongs to
 * @returns a function that changes the options of every plugin that is registered
 */
export function describeRoutes(
  root: FastifyInstance,
  decisionOf: (config: object | undefined) => Decision | undefined,
): (registered: { plugin: unknown; options: unknown }) => unknown {
  const routes: Route[] = []
  let isHeardOf = false
  root.addHook('onRoute', function remember(this: FastifyInstance, options: Route) {
    options[kFacts] = { server: this, decisionOf }
    wrapOwnTransform(options)
    routes.push(options)
  })
  root.addHook('onReady', async () => {
    const isProtected = routes.some(({ [kFacts]: facts }) => facts && registrationOf(facts.server))
    // Once more, because hooks of the app may have set a `swaggerTransform` since.
    routes.splice(0).forEach(wrapOwnTransform)
    if (isProtected && root.hasPlugin(swagger) && !isHeardOf) {
      root.log.warn(
        `${swagger} was registered before fastify-authn was loaded, so its document does not tell who may call the routes. Import fastify-authn before you call Fastify().`,
      )
    }
    await loading
  })
  return ({ plugin, options }) => {
    if (nameOfPlugin(plugin) !== swagger) return options
    isHeardOf = true
    return withTransforms(options)
  }
}

function withTransforms(given: unknown): unknown {
  const options = (given ?? {}) as SwaggerOptions
  // A static document is written by hand and is not changed.
  if (options.mode === 'static') return options
  return {
    ...options,
    transform: describing(options.transform ?? null),
    transformObject: finishing(options.transformObject ?? null),
  }
}

/** Wraps the `swaggerTransform` of a route, which @fastify/swagger uses in place of the general `transform`. */
function wrapOwnTransform(options: Route): void {
  const config = options.config as { swaggerTransform?: Transform | false } | undefined
  if (config?.swaggerTransform === undefined) return
  const swaggerTransform = describing(config.swaggerTransform || null)
  options.config = { ...config, swaggerTransform } as never
}

/** Makes a `transform` that runs the app's own one, and adds to its result what is known of the route. */
function describing(own: Transform | null): Transform {
  return made(own, () => (input) => room.transform(own, input))
}

function finishing(own: TransformObject | null): TransformObject {
  return made(own, () => (input) => room.transformObject(own, input))
}

/** The app's own one, where it is one of ours already. */
function made<T extends object>(own: T | null, make: () => T): T {
  if (own !== null && ours.has(own)) return own
  loading ??= load()
  const transform = make()
  ours.add(transform)
  return transform
}
