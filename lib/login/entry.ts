import type { FastifyInstance, onRequestHookHandler, RouteShorthandOptions } from 'fastify'
import { reportRefusal, startClock } from '../events.js'
import { sendRefusal, wordsOf } from '../guard/response.js'
import { kLogin, ValidationError, type EntryBody, type EntryFacts } from './schema.js'
import type { Handler } from './answer.js'

/**
 * Declares one of the plugin's own routes. It is always open, also in a protected scope. It has a validator of its own, so
 * that a schema compiler of the app (Zod, say) does not have to understand our schema.
 *
 * @param options - more options of the route
 */
export function declareEntry(
  app: FastifyInstance,
  url: string,
  facts: EntryFacts,
  body: EntryBody<unknown>,
  handler: Handler,
  { config, schema, onRequest, ...options }: RouteShorthandOptions,
): void {
  const known: { [kLogin]: EntryFacts } = { [kLogin]: facts }
  app.route({
    ...options,
    ...known,
    method: 'POST',
    url,
    config: { ...config, auth: false },
    onRequest: [noStore, ...sameSiteOnly(facts), ...[onRequest ?? []].flat()],
    schema: { ...schema, body: body.schema },
    validatorCompiler: () => (value) => {
      const problem = body.problem(value)
      return problem === null ? { value } : { error: new ValidationError(problem) }
    },
    handler,
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
function sameSiteOnly({ registration, kind }: EntryFacts): onRequestHookHandler[] {
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
