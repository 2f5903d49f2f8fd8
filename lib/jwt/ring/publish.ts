import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import type { JwkSet } from '../../../types/keys.js'

/**
 * The route at which everybody reads the public keys (RFC 7517 §5). It is always open, also in a protected scope, and
 * stands in no API document.
 *
 * @param jwks - the keys that are in force when it is called
 */
export function keySetRoute(url: string, jwks: () => JwkSet): RouteOptions {
  return {
    method: 'GET',
    url,
    exposeHeadRoute: true,
    config: { auth: false },
    schema: hidden,
    handler: (request, reply) => sendKeySet(request, reply, jwks()),
  }
}

/** What @fastify/swagger leaves out of its documents. */
const hidden: FastifySchema & { hide: true } = { hide: true }

/** How long others may keep the keys. It is shorter than the time after which a new key may sign. */
const cacheControl = 'public, max-age=300'

function sendKeySet({ headers }: FastifyRequest, reply: FastifyReply, jwks: JwkSet): FastifyReply {
  const body = JSON.stringify(jwks)
  const tag = `"${createHash('sha256').update(body).digest('base64url')}"`
  void reply.header('cache-control', cacheControl).header('etag', tag)
  if (isKnown(headers['if-none-match'], tag)) return reply.code(304).send()
  return reply.header('content-type', 'application/jwk-set+json').send(Buffer.from(body))
}

/** Whether a client has these keys already: the weak comparison of RFC 9110 §13.1.2. */
function isKnown(condition: string | undefined, tag: string): boolean {
  if (condition === undefined) return false
  const tags: readonly string[] = condition.match(/"[^"]*"/g) ?? []
  return condition.trim() === '*' || tags.includes(tag)
}
