import type {
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'
import { isAuthenticationError, wrongOption } from '../errors/errors.js'
import { reportRejection, startClock } from '../events.js'
import { requestProblemOf } from '../guard/problem.js'
import { challengesOf } from '../guard/challenges.js'
import { appErrorBody, sendRejection, messageOf } from '../guard/response.js'
import { ABANDONED } from '../http/disconnect.js'
import { markPluginRoute, type PluginRoute, type RouteBody } from '../http/plugin-route.js'
import type { Registration } from '../feature.js'
import type { RejectionLike } from '../../types/errors.js'

const bodyLimit = 16_384

/** The route's own validator keeps our schema from a schema compiler of the app, such as that of Zod. */
export function declarePluginRoute(registration: Registration, route: PluginRoute): void {
  const { body, method, path, notes, mark = false, scope = registration.app, takesForms } = route
  const url = urlOf(scope, path)
  if (scope.hasRoute({ method, url })) throwTaken(route, url)
  const { config, schema, onRequest, ...options } = route.options ?? {}
  const limit = scope.initialConfig.bodyLimit ?? bodyLimit
  const declared: RouteOptions = {
    ...(registration.errorBody && { errorHandler: errorHandlerOf(registration, route) }),
    ...(method === 'GET' ? { exposeHeadRoute: true } : { bodyLimit: Math.min(bodyLimit, limit) }),
    ...options,
    // The form of a provider has nothing to do with the bodies of the app.
    ...(takesForms && { bodyLimit }),
    method,
    url: path,
    config: { ...config, auth: mark },
    onRequest: [firstHook(registration, route), ...[onRequest ?? []].flat()],
    // @fastify/swagger leaves a route with `hide` out of its documents.
    schema: { ...schema, ...(body && { body: body.schema }), ...(!notes && { hide: true }) },
    ...(body && { validatorCompiler: () => validatorOf(body) }),
    handler: handlerOf(registration, route),
  }
  const marked = markPluginRoute(route, declared)
  if (takesForms === true) void scope.register(withForms(marked))
  else scope.route(marked)
}

/** In a scope of its own, so that the app may have its own parser for forms, or none. */
const withForms =
  (route: RouteOptions): FastifyPluginCallback =>
  (scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    const type = 'application/x-www-form-urlencoded'
    scope.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, read) =>
      read(null, body),
    )
    scope.route(route)
    done()
  }

function validatorOf({ read }: RouteBody) {
  return (value: unknown): { value: unknown } | { error: Error } => {
    try {
      read(value)
      return { value }
    } catch (error) {
      return { error: error as Error }
    }
  }
}

/** Makes startup fail because the app and the plugin both declare a route. @throws ERR_AUTH_OPTION */
export function throwTaken({ option, method, kind, ifTaken }: PluginRoute, url: string): never {
  wrongOption(
    `option "${option}": ${method} ${url} is already declared, but fastify-authn uses that path for its ${kind} route. ${ifTaken}`,
  )
}

export function urlOf({ prefix }: FastifyInstance, path: string): string {
  return `${prefix.replace(/\/$/, '')}${path}`
}

/** The path of a route below the login route, such as `/login/refresh`. */
export function belowLogin(path: string, name: string): string {
  return `${path.replace(/\/+$/, '')}/${name}`
}

/** The path of a route beside the login route, such as `/logout`. */
export function besideLogin(path: string, name: string): string {
  return belowLogin(path.replace(/\/+$/, '').replace(/\/[^/]*$/, ''), name)
}

function firstHook(
  registration: Registration,
  { kind, method, authenticator = kind, takesForms = false }: PluginRoute,
): onRequestHookHandler {
  return (request, reply, done) => {
    if (method !== 'POST' || takesForms) return done()
    // Caches must not store a token (RFC 6749 section 5.1); error replies get the same header.
    void reply.header('cache-control', 'no-store')
    const error = requestProblemOf(request, registration, null)
    if (error === null) return done()
    reportRejection(request, error, authenticator, startClock(), null, null, { registration })
    sendRejection(error, messageOf(error, request, registration), reply, registration)
  }
}

/** Bodies that Fastify or our schema rejects get what `errorBody` returns; other errors go to the app's error handler. */
function errorHandlerOf(
  registration: Registration,
  { kind, authenticator = kind }: PluginRoute,
): NonNullable<RouteOptions['errorHandler']> {
  return (error, request, reply) => {
    const { code, statusCode = 500 } = error
    const isOfBody = /^FST_ERR_(?:CTP_|VALIDATION$)/.test(code) && statusCode < 500
    const body = isOfBody ? appErrorBody(error as RejectionLike, request, registration) : null
    if (body === null) return reply.send(error)
    request.log.info({ code, authenticator }, 'The body of the request was rejected')
    return reply
      .code(statusCode)
      .header('content-type', 'application/json; charset=utf-8')
      .send(body)
  }
}

function handlerOf(registration: Registration, route: PluginRoute) {
  const { kind, work, notes, authenticator = kind, about } = route
  // A challenge speaks of the token in `Authorization` only if the route reads that header.
  const readsHeader = notes?.accepts !== undefined
  const setChallenges = challengesOf(registration, ['Bearer'], null, readsHeader)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const started = performance.now()
    try {
      if (route.givesTokens) registration.carrier.check?.(request)
      return await work(request, reply, started)
    } catch (error) {
      if (error === ABANDONED) return reply.hijack()
      if (!isAuthenticationError(error)) throw error
      reportRejection(request, error, authenticator, started, null, about, { registration })
      if (route.onRejection !== undefined) return route.onRejection(error, reply)
      setChallenges(error, request, reply)
      sendRejection(error, messageOf(error, request, registration), reply, registration)
      return reply
    }
  }
}
