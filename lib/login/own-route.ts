import type {
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteOptions,
  RouteShorthandOptions,
} from 'fastify'
import { malformed } from '../authenticators/basic.js'
import { isAuthenticationError, wrongOption } from '../errors/errors.js'
import { reportRefusal, startClock } from '../events.js'
import { ownErrorBody, sendRefusal, setChallenges, textOf } from '../guard/response.js'
import { hasSeveral } from '../http/authorization.js'
import { ABANDONED } from '../http/disconnect.js'
import type { RouteBody } from './schema.js'
import type { Registration } from '../registration.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { RejectionLike } from '../../types/errors.js'

/** The key of the {@link OwnRoute} in the options of the plugin's own routes. */
export const kOwnRoute = Symbol('fastify-authn.own-route')

/** Handles a request. An AuthenticationError that it throws is sent as the guard does. */
export type Work = (
  request: FastifyRequest,
  reply: FastifyReply,
  started: number,
) => Promise<FastifyReply>

/** One of the plugin's own routes: a POST in the scope of the registration, always open. */
export interface OwnRoute {
  /** Its name in events and in the log. */
  readonly kind: 'login' | 'refresh' | 'logout'
  readonly path: string
  readonly body: RouteBody
  readonly work: Work
  /** For API documents, besides the body and the responses that all own routes have. */
  readonly notes: {
    readonly responses: Responses
    /** The authenticators whose credentials the route reads itself, and which a request may leave out. */
    readonly accepts?: readonly Authenticator[]
  }
}

/** Responses by status: a description, or a body schema with a description. */
export type Responses = Readonly<Record<number, string | object>>

/** @param options - of a route. @returns undefined for a route that is not the plugin's own */
export function ownRouteOf(options: object): OwnRoute | undefined {
  return (options as { readonly [kOwnRoute]?: OwnRoute })[kOwnRoute]
}

/** In bytes. */
const bodyLimit = 16_384

/** Declares an own route. Its own validator keeps our schema from a schema compiler of the app, such as that of Zod. */
export function declareOwnRoute(
  registration: Registration,
  route: OwnRoute,
  { config, schema, onRequest, ...options }: RouteShorthandOptions,
): void {
  const { body, path } = route
  const { initialConfig } = registration.app
  const declared: RouteOptions & { [kOwnRoute]: OwnRoute } = {
    ...(registration.errorBody && { errorHandler: errorHandlerOf(registration, route) }),
    bodyLimit: Math.min(bodyLimit, initialConfig.bodyLimit ?? bodyLimit),
    ...options,
    [kOwnRoute]: route,
    method: 'POST',
    url: path,
    config: { ...config, auth: false },
    onRequest: [firstHook(registration, route), ...[onRequest ?? []].flat()],
    schema: { ...schema, body: body.schema },
    validatorCompiler: () => (value) => {
      try {
        body.read(value)
        return { value }
      } catch (error) {
        return { error: error as Error }
      }
    },
    handler: handlerOf(registration, route),
  }
  registration.app.route(declared)
}

/** Makes startup fail because the app and the plugin both declare a route. @throws ERR_AUTH_OPTION */
export function takenRoute(url: string, kind: OwnRoute['kind']): never {
  const what = kind === 'login' ? '"login.path"' : '"sessions"'
  wrongOption(
    `option ${what}: POST ${url} is already declared, but fastify-authn uses that path for its ${kind} route. Move the routes of fastify-authn with login: { path }, which also moves refresh and logout, login: { refreshPath } or login: { logoutPath }, or leave all of them out with login: false.`,
  )
}

/** With the prefix of the scope. */
export function urlOf({ app }: Registration, path: string): string {
  return `${app.prefix.replace(/\/$/, '')}${path}`
}

function firstHook(registration: Registration, { kind }: OwnRoute): onRequestHookHandler {
  return (request, reply, done) => {
    // Caches must not store a token (RFC 6749 section 5.1); error replies get the same header.
    void reply.header('cache-control', 'no-store')
    const { rawHeaders } = request.raw
    const error = hasSeveral(rawHeaders) ? malformed() : registration.carrier.refuse(request)
    if (error === null) return done()
    reportRefusal(request, error, kind, startClock())
    sendRefusal(error, textOf(error, request, registration), reply, registration)
  }
}

/** Bodies that Fastify or our schema rejects get what `errorBody` returns; other errors go to the app's error handler. */
function errorHandlerOf(
  registration: Registration,
  { kind }: OwnRoute,
): NonNullable<RouteOptions['errorHandler']> {
  return (error, request, reply) => {
    const { code, statusCode = 500 } = error
    const isOfBody = /^FST_ERR_(?:CTP_|VALIDATION$)/.test(code) && statusCode < 500
    const body = isOfBody ? ownErrorBody(error as RejectionLike, request, registration) : null
    if (body === null) return reply.send(error)
    request.log.info({ code, authenticator: kind }, 'The body of the request was rejected')
    return reply
      .code(statusCode)
      .header('content-type', 'application/json; charset=utf-8')
      .send(body)
  }
}

function handlerOf(registration: Registration, { kind, work, notes }: OwnRoute) {
  // Otherwise the challenge says nothing about a token in the header `Authorization`.
  const readsHeader = notes.accepts !== undefined
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const started = performance.now()
    try {
      return await work(request, reply, started)
    } catch (error) {
      if (error === ABANDONED) return reply.hijack()
      if (!isAuthenticationError(error)) throw error
      reportRefusal(request, error, kind, started)
      setChallenges(error, request, reply, registration, ['Bearer'], null, readsHeader)
      sendRefusal(error, textOf(error, request, registration), reply, registration)
      return reply
    }
  }
}
