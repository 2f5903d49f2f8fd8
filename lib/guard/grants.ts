import type { FastifyRequest } from 'fastify'
import { grantedTo } from './access.js'
import { rejectionOrFault } from '../errors/errors.js'
import { requireRegistration } from '../request/registration.js'
import { stateOf } from '../request/state.js'
import type { Grants } from '../../types/marks.js'

/**
 * The scopes and roles of the user of a request, as marks see them: for checks inside of one route, such as tools of MCP or
 * fields of GraphQL. The functions of `access` are called anew each time.
 *
 * @returns copies; empty sets in anonymous requests
 * @throws (rejects) `ERR_AUTH_ACCESS` (500) where a function of `access` fails; an AuthenticationError that it throws stays
 */
export async function grantsOf(request: FastifyRequest): Promise<Grants> {
  const { user = null } = stateOf(request) ?? {}
  if (user === null) return { scopes: new Set(), roles: new Set() }
  try {
    const registration = requireRegistration('grantsOf()', request.server)
    const scopes = await grantedTo(user, request, registration, 'scopesOf')
    const roles = await grantedTo(user, request, registration, 'rolesOf')
    return { scopes: new Set(scopes), roles: new Set(roles) }
  } catch (error) {
    throw rejectionOrFault('ERR_AUTH_ACCESS', error)
  }
}
