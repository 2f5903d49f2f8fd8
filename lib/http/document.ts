import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'

export interface PublicDocument {
  readonly body: object
  readonly type: string
  /** Seconds for which caches may use it. */
  readonly maxAge: number
}

/** Sends a document with an `ETag`, or a 304 where the client has it already (RFC 9110 §13.1.2). */
export function sendDocument(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { body, type, maxAge }: PublicDocument,
): FastifyReply {
  const text = JSON.stringify(body)
  const tag = `"${digestOf(text)}"`
  void reply.header('cache-control', `public, max-age=${maxAge}`).header('etag', tag)
  const condition = headers['if-none-match'] ?? ''
  // The comparison is weak: it ignores `W/` before a tag.
  const tags: readonly string[] = condition.match(/"[^"]*"/g) ?? []
  if (condition === '*' || tags.includes(tag)) return reply.code(304).send()
  return reply.header('content-type', type).send(Buffer.from(text))
}
