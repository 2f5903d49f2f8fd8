import type { FastifyRequest } from 'fastify'
import { malformed } from '../authenticators/basic.js'
import { hasSeveral } from '../http/authorization.js'
import type { Registration, RoutePolicy } from '../feature.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'

/** Why a request is rejected before its credentials are read, or null. @param policy - null for our own routes */
export function requestProblemOf(
  request: FastifyRequest,
  { requestChecks }: Registration,
  policy: RoutePolicy | null,
): AuthenticationErrorLike | null {
  // The requests that @fastify/websocket injects have no rawHeaders.
  const { rawHeaders } = request.raw as { rawHeaders?: string[] }
  // A proxy may have read the other one (RFC 9110 §5.3).
  if (rawHeaders !== undefined && hasSeveral(rawHeaders)) return malformed()
  for (const check of requestChecks) {
    const error = check(request, policy)
    if (error !== null) return error
  }
  return null
}
