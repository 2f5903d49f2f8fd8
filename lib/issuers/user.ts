import type { FastifyRequest } from 'fastify'
import { isThenable } from '../common/objects.js'
import { faultOf, isAuthenticationError } from '../errors.js'
import { checkUser, findUser, requireUser, withUserTimeout } from '../users/find.js'
import type { IssuerOptions } from '../../types/issuers.js'
import type { JwtClaims } from '../../types/request-extra.js'
import type { UserService } from '../../types/user-service.js'

/** Finds the user of a token; throws or rejects where there is none. */
export type FindUser = (
  claims: JwtClaims,
  request: FastifyRequest,
  accept: (user: object) => object,
) => object | Promise<object>

/** Finds users by `sub`, in the user service of the app. */
export function bySubject(service: UserService, timeout: number | undefined): FindUser {
  return ({ sub }, request, accept) =>
    findUser(service, sub as string, request, timeout, (user) => accept(requireUser(user)))
}

/**
 * Finds users by the function of the app. An `AuthenticationError` of it goes out as it is.
 *
 * @param timeout - seconds, as for the user service
 */
export function byFunction(
  user: NonNullable<IssuerOptions['user']>,
  timeout: number | undefined,
): FindUser {
  return (claims, request, accept) => {
    const use = (found: unknown): object =>
      accept(requireUser(checkUser(found, 'user() of an issuer')))
    let answer: unknown
    try {
      answer = user(claims, request)
    } catch (error) {
      throw refusalOrFault(error)
    }
    if (!isThenable(answer)) return use(answer)
    // What only looks like a promise may throw, or settle twice.
    return withUserTimeout(Promise.resolve(answer), timeout).then(use, (error: unknown) => {
      throw refusalOrFault(error)
    })
  }
}

function refusalOrFault(error: unknown): unknown {
  return isAuthenticationError(error) ? error : faultOf('ERR_AUTH_USER_SERVICE', error)
}
