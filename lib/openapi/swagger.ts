import type { FastifyInstance } from 'fastify'
import { nameOfPlugin } from '../app/fastify.js'
import { registrationOf, type Decision } from '../registration.js'
import { DocumentWriter } from './document.js'
import { aboutOf, describe, kFacts, type Route } from './route.js'
import type { Node } from './dialects.js'

/** The argument of a `transform` of @fastify/swagger. The document is in one of two properties. */
interface TransformInput {
  readonly schema?: Node
  readonly url: string
  readonly route: Route
  readonly openapiObject?: Node
  readonly swaggerObject?: Node
}
type Transform = (input: TransformInput) => { schema?: Node; url?: string }
type TransformObject = (input: Pick<TransformInput, 'openapiObject' | 'swaggerObject'>) => unknown

/** The options of @fastify/swagger that are used here. */
interface SwaggerOptions {
  mode?: string
  transform?: Transform | null
  transformObject?: TransformObject | null
}

const swagger = '@fastify/swagger'
const writers = new WeakMap<object, DocumentWriter>()
/** The transforms that we have made, so that none is wrapped twice. */
const ours = new WeakSet<object>()

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
  root.addHook('onReady', (done) => {
    const isProtected = routes.some(({ [kFacts]: facts }) => facts && registrationOf(facts.server))
    // Once more, because hooks of the app may have set a `swaggerTransform` since.
    routes.splice(0).forEach(wrapOwnTransform)
    if (isProtected && root.hasPlugin(swagger) && !isHeardOf) {
      root.log.warn(
        `${swagger} was registered before fastify-authn was loaded, so its document does not tell who may call the routes. Import fastify-authn before you call Fastify().`,
      )
    }
    done()
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
  if (own !== null && ours.has(own)) return own
  const transform: Transform = (input) => {
    const { route, schema } = input
    const about = aboutOf(route)
    if (about === null) return own?.(input) ?? {}
    // The body of the login route is not passed to the app's transform, which may expect another schema library.
    const { body: _, ...rest } = schema ?? {}
    const given = about.login === undefined ? schema : rest
    const result = own?.({ ...input, schema: given as Node }) ?? {}
    return { ...result, schema: describe(result.schema ?? given ?? {}, about, writerOf(input)) }
  }
  ours.add(transform)
  return transform
}

function finishing(own: TransformObject | null): TransformObject {
  if (own !== null && ours.has(own)) return own
  const transformObject: TransformObject = (input) => {
    writerOf(input).finish()
    return own === null ? (input.openapiObject ?? input.swaggerObject) : own(input)
  }
  ours.add(transformObject)
  return transformObject
}

function writerOf({
  openapiObject,
  swaggerObject,
}: Parameters<TransformObject>[0]): DocumentWriter {
  const document = (openapiObject ?? swaggerObject) as Node
  const writer = writers.get(document) ?? new DocumentWriter(document)
  writers.set(document, writer)
  return writer
}
