import type { FastifyRequest } from 'fastify'

/** Of a request, what an authenticator may look at. */
export function requestWith(headers: Record<string, string>, server: object = {}): FastifyRequest {
  return { headers, server } as FastifyRequest
}
