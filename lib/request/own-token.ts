import type { FastifyRequest } from 'fastify'
import { credentialsOf, type MALFORMED } from '../http/authorization.js'
import type { TokenSource } from '../feature.js'

/**
 * The access token of a request. Where there is an `Authorization` header, whatever it holds, no other place counts.
 *
 * @throws AuthenticationError for a request that must not use its token
 */
export function ownTokenIn(
  request: FastifyRequest,
  sources: readonly TokenSource[],
): string | typeof MALFORMED | null {
  const { authorization } = request.headers
  if (authorization !== undefined) return credentialsOf(authorization, 'Bearer') || null
  for (const source of sources) {
    const token = source.find(request)
    if (token !== null) return token
  }
  return null
}
