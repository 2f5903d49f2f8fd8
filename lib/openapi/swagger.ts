import type { FastifyInstance, RouteOptions } from 'fastify'
import { routeName, scopeMarkOf } from '../guard.js'
import { isThenable } from '../objects.js'
import { nameOfPlugin } from '../plugin-names.js'
import { registrationOf, type Plan, type Registration } from '../registration.js'
import { kLogin, kServer } from '../symbols.js'
import { DocumentWriter, marker, type Facts } from './document.js'
import { describeLogin, type LoginFacts } from './login.js'
import { repliesOf } from './replies.js'
import { schemesOf } from './schemes.js'
import type { Node } from './dialects.js'

/** A route, with what we know of it. */
type Route = RouteOptions & { [kServer]?: FastifyInstance; [kLogin]?: LoginFacts }

/** What @fastify/swagger hands to a `transform`: the document is in one of two properties. */
interface TransformInput {
  readonly schema?: Node
  readonly url: string
  readonly route: Route
  readonly openapiObject?: Node
  readonly swaggerObject?: Node
}
type Transform = (input: TransformInput) => { schema?: Node; url?: string }
type TransformObject = (input: Pick<TransformInput, 'openapiObject' | 'swaggerObject'>) => unknown

/** What is used of the options of @fastify/swagger. */
interface SwaggerOptions {
  mode?: string
  transform?: Transform | null
  transformObject?: TransformObject | null
}

const swagger = '@fastify/swagger'
const form = 'application/x-www-form-urlencoded'
const writers = new WeakMap<object, DocumentWriter>()
/** What is ours already, so that nothing is described twice. */
const ours = new WeakSet<object>()

/**
 * Has the documents of every @fastify/swagger in a tree of Fastify instances tell who may call the routes.
 * Through its own options `transform` and `transformObject`, around those of the app, and so that the
 * schemas of the routes, which validate and serialize, stay as they are.
 *
 * @param root - what is registered in it later is heard of
 */
export function describeRoutes(root: FastifyInstance): void {
  const routes: Route[] = []
  root.addHook('onRoute', function remember(this: FastifyInstance, options: Route) {
    options[kServer] = this
    wrapOwnTransform(options)
    routes.push(options)
  })
  const isHeardOf = watchRegister(root)
  root.addHook('onReady', (done) => {
    const isProtected = routes.some(({ [kServer]: server }) => server && registrationOf(server))
    // Again: hooks of the app may have set one.
    routes.splice(0).forEach(wrapOwnTransform)
    if (isProtected && root.hasPlugin(swagger) && !isHeardOf()) {
      root.log.warn(
        `${swagger} was registered before fastify-authn was loaded, so its document does not tell who may call the routes. Import fastify-authn before you call Fastify().`,
      )
    }
    done()
  })
}

/** @returns whether @fastify/swagger was registered since */
function watchRegister(root: FastifyInstance): () => boolean {
  type Register = (this: FastifyInstance, plugin: unknown, options?: unknown) => unknown
  const register = root.register as unknown as Register
  let isHeardOf = false
  const optionsFor = (plugin: unknown, options: unknown): unknown => {
    if (nameOfPlugin(plugin) !== swagger) return options
    isHeardOf = true
    return withTransforms(options)
  }
  const watched: Register = function watched(plugin, options) {
    let found = plugin
    if (typeof options === 'function') {
      const resolve = options as (parent: FastifyInstance) => unknown
      options = (parent: FastifyInstance) => optionsFor(found, resolve(parent))
    } else if (!isThenable(plugin)) {
      options = optionsFor(plugin, options)
    } else {
      // An `import()`: what it is shows later, and then what was given has to be amended.
      options ??= {}
      if (!Object.isExtensible(options)) options = { ...(options as object) }
    }
    if (!isThenable(plugin)) return register.call(this, plugin, options)
    const loaded = plugin.then((module: unknown) => {
      found = module
      if (typeof options === 'function') return module
      const amended = optionsFor(module, options)
      // What is not amended may be frozen.
      if (amended !== options) Object.assign(options as object, amended)
      return module
    })
    return register.call(this, loaded, options)
  }
  root.register = watched as never
  return () => isHeardOf
}

function withTransforms(given: unknown): unknown {
  const options = (given ?? {}) as SwaggerOptions
  // A document that is written by hand is as its author wants it.
  if (options.mode === 'static') return options
  return {
    ...options,
    transform: describing(options.transform ?? null),
    transformObject: finishing(options.transformObject ?? null),
  }
}

/** The `transform` of a route takes the place of that of the document. */
function wrapOwnTransform(options: Route): void {
  const config = options.config as { swaggerTransform?: Transform | false } | undefined
  if (config?.swaggerTransform === undefined) return
  const swaggerTransform = describing(config.swaggerTransform || null)
  options.config = { ...config, swaggerTransform } as never
}

/** A `transform` that adds what is known of a route to what the app makes of its schema. */
function describing(own: Transform | null): Transform {
  if (own !== null && ours.has(own)) return own
  const transform: Transform = (input) => {
    const { route, schema } = input
    const about = aboutOf(route)
    if (about === null) return own?.(input) ?? {}
    // The body of a login is of TypeBox, and not of whatever the app writes its schemas with.
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

/** What the marks say of a route. */
interface About {
  readonly registration: Registration
  /** Null where the route is open. */
  readonly plan: Plan | null
  readonly login: LoginFacts | undefined
  readonly server: FastifyInstance
}

/** @returns null for a route that no mark is about */
function aboutOf(route: Route): About | null {
  const { [kServer]: server, [kLogin]: login, config } = route
  const registration = server && registrationOf(server)
  if (server === undefined || registration === undefined) return null
  const own: unknown = config?.auth
  const mark = own === undefined ? scopeMarkOf(server) : own
  if (mark === undefined) return null
  const plan = mark === false ? null : registration.plan(mark, routeName(route.method, route.url))
  return { registration, plan: plan?.mode === false ? null : plan, login, server }
}

function describe(schema: Node, about: About, writer: DocumentWriter): Node {
  // Also where the app names the schemes itself: some of them may be ours.
  const requirements = securityOf(about, writer)
  const security = schema.security ?? requirements
  const described = security === undefined ? schema : { ...schema, security }
  const facts = factsOf(schema, about)
  return facts === null ? described : { ...described, [marker]: facts }
}

/** An open route says so only where the document would have it closed. */
function securityOf({ plan, registration }: About, writer: DocumentWriter): object | undefined {
  if (plan === null) return writer.hasSecurity ? [] : undefined
  const schemes = schemesOf(plan.authenticator, registration.authenticators)
  return writer.requirements(schemes, plan.nobodyPasses)
}

function factsOf(schema: Node, { plan, registration, login, server }: About): Facts | null {
  if (login === undefined) {
    const replies = plan === null ? null : repliesOf(plan, registration)
    return replies && { replies, login: null, hasOwnSuccess: true }
  }
  const types = ['application/json', form].filter((type) => server.hasContentTypeParser(type))
  const description = describeLogin(login, (schema.consumes as string[] | undefined) ?? types)
  const hasOwnSuccess = Object.keys(schema.response ?? {}).some((status) => status.startsWith('2'))
  return { replies: description.replies, login: description, hasOwnSuccess }
}
