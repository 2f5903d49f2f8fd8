import * as Type from '@sinclair/typebox/type'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteShorthandOptions,
} from 'fastify'
import { faultOf, isAuthenticationError } from '../errors.js'
import { reportRefusal, reportSuccess, startClock } from '../events.js'
import { sendRefusal, setChallenges, wordsOf } from '../guard/response.js'
import { ABANDONED } from '../http/disconnect.js'
import { viewOf } from '../users/view.js'
import { kOwnRoute, ValidationError, type EntryBody, type OwnRoute } from './schema.js'
import type { GivenTokens, Registration } from '../registration.js'

/** What one of the plugin's own routes does with a request, whose body is checked and read. Refusals are thrown. */
export type Work<Content> = (
  content: Content,
  request: FastifyRequest,
  reply: FastifyReply,
  started: number,
) => Promise<FastifyReply>

/**
 * Declares one of the plugin's own routes. It is always open, also in a protected scope. It has a validator of its own, so
 * that a schema compiler of the app (Zod, say) does not have to understand our schema.
 *
 * @param options - more options of the route
 */
export function declareEntry<Content>(
  app: FastifyInstance,
  url: string,
  route: OwnRoute,
  body: EntryBody<Content>,
  work: Work<Content>,
  { config, schema, onRequest, ...options }: RouteShorthandOptions,
): void {
  const known: { [kOwnRoute]: OwnRoute } = { [kOwnRoute]: route }
  app.route({
    ...options,
    ...known,
    method: 'POST',
    url,
    config: { ...config, auth: false },
    onRequest: [noStore, ...sameSiteOnly(route), ...[onRequest ?? []].flat()],
    schema: { ...schema, body: body.schema },
    validatorCompiler: () => (value) => {
      const problem = body.problem(value)
      return problem === null ? { value } : { error: new ValidationError(problem) }
    },
    handler: handlerOf(route, body, work),
  })
}

/** Caches must not store a token (RFC 6749 section 5.1); error replies get the same header. */
const noStore: onRequestHookHandler = (_, reply, done) => {
  void reply.header('cache-control', 'no-store')
  done()
}

/**
 * With cookies, a page of another site could log its visitor in as somebody else, who then reads what the visitor
 * writes. Such a request is refused before its body is read.
 */
function sameSiteOnly({ registration, kind }: OwnRoute): onRequestHookHandler[] {
  const { cookies } = registration
  if (cookies === null) return []
  return [
    (request, reply, done) => {
      const error = cookies.crossSite(request)
      if (error === null) return done()
      reportRefusal(request, error, kind, startClock())
      sendRefusal(error, wordsOf(error, request, registration), reply)
    },
  ]
}

/** Answers refusals as the guard does. */
function handlerOf<Content>(
  { registration, kind }: OwnRoute,
  body: EntryBody<Content>,
  work: Work<Content>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  // Login and refresh do not read the header `Authorization`, so their challenge says nothing about the token in it.
  const judgesHeader = kind === 'logout'
  return async (request, reply) => {
    const started = startClock()
    try {
      return await work(body.read(request.body), request, reply, started)
    } catch (error) {
      if (error === ABANDONED) return reply.hijack()
      if (!isAuthenticationError(error)) throw error
      reportRefusal(request, error, kind, started)
      setChallenges(error, request, reply, registration, ['Bearer'], null, judgesHeader)
      sendRefusal(error, wordsOf(error, request, registration), reply)
      return reply
    }
  }
}

/**
 * Sends tokens: as cookies where the app asks for that, otherwise in the body.
 *
 * @param inBody - whether this client keeps its tokens itself, also where others get cookies
 */
export function sendTokens(
  { cookies }: Registration,
  request: FastifyRequest,
  reply: FastifyReply,
  tokens: GivenTokens,
  inBody = cookies === null,
): FastifyReply {
  const body = inBody ? bodyOf(tokens) : cookies?.give(request, reply, tokens)
  // Sent as text: a response schema or serializer of the app must neither drop nor refuse it.
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body))
}

/** The body of what {@link sendTokens} sends, for API documents. */
export function tokensSchema({ cookies }: Registration): Type.TSchema {
  const expiresIn = Type.Optional(Type.Integer())
  if (cookies !== null)
    return Type.Object({ expiresIn }, { description: 'The tokens, as cookies.' })
  const refreshToken = Type.Optional(Type.String())
  const fields = { token: Type.String(), refreshToken, expiresIn }
  // Written as code: Markdown would take <token> for an HTML tag and not show it.
  const description = 'A token, for the header `Authorization: Bearer <token>`.'
  return Type.Object(fields, { description })
}

function bodyOf({ token, refreshToken, expiresIn }: GivenTokens): object {
  return refreshToken === undefined ? { token } : { token, refreshToken, expiresIn }
}

/**
 * Reports who got tokens.
 *
 * @throws AuthenticationFault when a getter of the user throws
 */
export function reportEntry(
  { hiddenFields }: Registration,
  request: FastifyRequest,
  user: object,
  name: 'login' | 'refresh',
  started: number,
): void {
  let shown: object
  try {
    shown = viewOf(user, hiddenFields)
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHENTICATOR', error)
  }
  reportSuccess(request, shown, name, started)
}
