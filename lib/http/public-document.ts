import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'

/** Seconds for which clients may cache a document. New keys are published for longer than that before they sign. */
const maxAge = 300

/** Sends a document that everyone may read and cache; 304 to a client that has it. */
export function sendPublic(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  type: string,
  text: string,
): FastifyReply {
  const tag = `"${digestOf(text)}"`
  void reply.header('cache-control', `public, max-age=${maxAge}`).header('etag', tag)
  const condition = headers['if-none-match'] ?? ''
  // The comparison is weak (RFC 9110 §13.1.2): it ignores `W/` before a tag.
  const tags: readonly string[] = condition.match(/"[^"]*"/g) ?? []
  if (condition === '*' || tags.includes(tag)) return reply.code(304).send()
  return reply.header('content-type', type).send(Buffer.from(text))
}
