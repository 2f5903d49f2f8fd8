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
import { kLogin, type EntryFacts, type RouteBody } from './schema.js'
import type { GivenTokens, Registration } from '../registration.js'

/** What a route of the plugin does with a request, whose body is checked and read. Refusals are thrown. */
export type Work<Content> = (
  content: Content,
  request: FastifyRequest,
  reply: FastifyReply,
  started: number,
) => Promise<FastifyReply>

/**
 * Declares one of the plugin's own routes. It is always open, also in a protected scope. It has a validator of its own, so
 * that a schema compiler of the app (Zod, say) does not have to understand our schema.
 */
export function declareOwnRoute<Content>(
  app: FastifyInstance,
  url: string,
  facts: EntryFacts,
  body: RouteBody<Content>,
  work: Work<Content>,
  { config, schema, onRequest, ...options }: RouteShorthandOptions,
): void {
  const known: { [kLogin]: EntryFacts } = { [kLogin]: facts }
  app.route({
    ...options,
    ...known,
    method: 'POST',
    url,
    config: { ...config, auth: false },
    onRequest: [firstHook(facts), ...[onRequest ?? []].flat()],
    schema: { ...schema, body: body.schema },
    validatorCompiler: () => (value) => {
      const problem = body.problem(value)
      return problem === null ? { value } : { error: invalid(problem) }
    },
    handler: handlerOf(facts, body, work),
  })
}

function firstHook({ registration, kind }: EntryFacts): onRequestHookHandler {
  return (request, reply, done) => {
    // Caches must not store a token (RFC 6749 section 5.1); error replies get the same header.
    void reply.header('cache-control', 'no-store')
    // Login CSRF: with cookies, a page of another site could log its visitor in as another user, who then reads what the
    // visitor writes. Such a request is rejected before its body is read.
    const error = registration.cookies?.crossSite(request) ?? null
    if (error === null) return done()
    reportRefusal(request, error, kind, startClock())
    sendRefusal(error, wordsOf(error, request, registration), reply)
  }
}

/** A validation error as Fastify reports its own. */
function invalid(problem: string): Error {
  return Object.assign(new Error(problem), { code: 'FST_ERR_VALIDATION', statusCode: 400 })
}

/** Answers refusals as the guard does. */
function handlerOf<Content>(
  { registration, kind }: EntryFacts,
  body: RouteBody<Content>,
  work: Work<Content>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  // Login and refresh do not read the header `Authorization`, so their challenge says nothing about the token in it.
  const readsHeader = kind === 'logout'
  return async (request, reply) => {
    const started = startClock()
    // Checked again after the validator: some content types have bypassed validation before (CVE-2026-25223 of
    // Fastify), and a hook of the app can set attachValidation.
    const problem = body.problem(request.body)
    if (problem !== null) throw invalid(problem)
    try {
      return await work(body.read(request.body), request, reply, started)
    } catch (error) {
      if (error === ABANDONED) return reply.hijack()
      if (!isAuthenticationError(error)) throw error
      reportRefusal(request, error, kind, started)
      setChallenges(error, request, reply, registration, ['Bearer'], null, readsHeader)
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
  const { token, refreshToken, expiresIn } = tokens
  const pair = refreshToken === undefined ? { token } : { token, refreshToken, expiresIn }
  const body = inBody ? pair : cookies?.give(request, reply, tokens)
  // Sent as text: a response schema or serializer of the app must neither drop nor refuse it.
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body))
}

/** @throws AuthenticationFault when a getter of the user throws */
export function reportTokens(
  { hiddenFields }: Registration,
  request: FastifyRequest,
  user: object,
  name: 'login' | 'refresh',
  started: number,
): void {
  try {
    reportSuccess(request, viewOf(user, hiddenFields), name, started)
  } catch (error) {
    throw faultOf('ERR_AUTH_AUTHENTICATOR', error)
  }
}
