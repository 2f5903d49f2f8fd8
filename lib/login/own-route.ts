import type {
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteOptions,
  RouteShorthandOptions,
} from 'fastify'
import type * as Type from '@sinclair/typebox/type'
import { malformed } from '../authenticators/basic.js'
import { isAuthenticationError, wrongOption } from '../errors.js'
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

/**
 * Handles a request whose body was checked and read. An AuthenticationError that it throws is sent as the guard does.
 */
export type Work<Content> = (
  content: Content,
  request: FastifyRequest,
  reply: FastifyReply,
  started: number,
) => Promise<FastifyReply>

/** One of the plugin's own routes: a POST in the scope of the registration, always open. */
export interface OwnRoute<Content = unknown> {
  /** Its name in events and in the log. */
  readonly kind: 'login' | 'refresh' | 'logout'
  readonly path: string
  readonly body: RouteBody<Content>
  readonly work: Work<Content>
  readonly notes: RouteNotes
}

/** For API documents, besides the body and the responses that all own routes have. */
interface RouteNotes {
  readonly responses: Responses
  /** The authenticators whose credentials the route reads itself, and which a request may leave out. */
  readonly accepts?: readonly Authenticator[]
}

/** Responses by status: a description, or a body schema with a description. */
export type Responses = Readonly<Record<number, string | Type.TSchema>>

/** @param options - of a route. @returns undefined for a route that is not the plugin's own */
export function ownRouteOf(options: object): OwnRoute | undefined {
  return (options as { readonly [kOwnRoute]?: OwnRoute })[kOwnRoute]
}

/** In bytes. */
const bodyLimit = 16_384

/** Declares an own route. Its own validator keeps our schema from a schema compiler of the app, such as that of Zod. */
export function declareOwnRoute<Content>(
  registration: Registration,
  route: OwnRoute<Content>,
  { config, schema, onRequest, ...options }: RouteShorthandOptions,
): void {
  const { body, path } = route
  const { initialConfig } = registration.app
  const declared: RouteOptions & { [kOwnRoute]: OwnRoute<Content> } = {
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
      const problem = body.problem(value)
      return problem === null ? { value } : { error: invalid(problem) }
    },
    handler: handlerOf(registration, route),
  }
  registration.app.route(declared)
}

/** Makes startup fail because the app and the plugin both declare a route. @throws ERR_AUTH_OPTION */
export function takenRoute(url: string, kind: OwnRoute['kind']): never {
  const what = kind === 'login' ? '"login.path"' : '"sessions"'
  wrongOption(
    `option ${what}: POST ${url} is already declared, but fastify-authn uses that path for its ${kind} route. Move the routes of fastify-authn with login: { path }, which also moves refresh and logout, or leave all of them out with login: false.`,
  )
}

/** With the prefix of the scope. */
export function urlOf({ app }: Registration, path: string): string {
  return `${app.prefix.replace(/\/$/, '')}${path}`
}

function firstHook<Content>(
  registration: Registration,
  { kind }: OwnRoute<Content>,
): onRequestHookHandler {
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
function errorHandlerOf<Content>(
  registration: Registration,
  { kind }: OwnRoute<Content>,
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

/** A validation error as Fastify reports its own. */
function invalid(problem: string): Error {
  return Object.assign(new Error(problem), { code: 'FST_ERR_VALIDATION', statusCode: 400 })
}

function handlerOf<Content>(
  registration: Registration,
  { kind, body, work, notes }: OwnRoute<Content>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  // Otherwise the challenge says nothing about a token in the header `Authorization`.
  const readsHeader = notes.accepts !== undefined
  return async (request, reply) => {
    const started = performance.now()
    // Checked again: some content types have bypassed validation (CVE-2026-25223 of Fastify), and a hook of the app can
    // set attachValidation.
    const problem = body.problem(request.body)
    if (problem !== null) throw invalid(problem)
    try {
      return await work(body.read(request.body), request, reply, started)
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
