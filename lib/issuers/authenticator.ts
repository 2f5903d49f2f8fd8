import type { FastifyRequest } from 'fastify'
import { isThenable } from '../common/objects.js'
import { refusal, refusalOrFault } from '../errors.js'
import { credentialsOf, MALFORMED } from '../http/authorization.js'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { invalidToken } from '../tokens/claims.js'
import { setClaims } from '../request/state.js'
import { checkUser, isUsableName, requireUser, withUserTimeout } from '../users/user.js'
import { unverifiedIssuer, type IssuerVerifier } from './verifier.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { JwtClaims } from '../../types/request-extra.js'

/**
 * The authenticator of an issuer's tokens in the `Authorization` header (RFC 6750 §2.1).
 *
 * @param timeout - seconds for `user`; undefined for no limit
 */
export function issuerAuthenticator(
  verifier: IssuerVerifier,
  timeout: number | undefined,
): Authenticator {
  const { issuer, user } = verifier.issuer

  function userOf(request: FastifyRequest, claims: JwtClaims): object | Promise<object> {
    setClaims(request, claims)
    // RFC 9068 §2.2 requires it, and a database that is asked for `undefined` may return its first row.
    if (!isUsableName(claims.sub)) throw invalidToken('claim sub')
    const accept = (found: unknown): object => requireUser(checkUser(found, 'user() of an issuer'))
    let found: unknown
    try {
      found = user(claims, request)
    } catch (error) {
      throw refusalOrFault('ERR_AUTH_USER_SERVICE', error)
    }
    if (!isThenable(found)) return accept(found)
    // Another thenable may throw, or settle twice.
    return withUserTimeout(Promise.resolve(found), timeout).then(accept, (error: unknown) => {
      throw refusalOrFault('ERR_AUTH_USER_SERVICE', error)
    })
  }

  return {
    scheme: 'Bearer',
    openapi: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: `An access token of ${issuer}`,
    },
    accepts({ headers }) {
      const token = credentialsOf(headers.authorization, 'Bearer')
      return typeof token === 'string' && unverifiedIssuer(token) === issuer
    },
    authenticate(request) {
      const token = credentialsOf(request.headers.authorization, 'Bearer')
      if (token === null || token === '') return null
      if (token === MALFORMED) throw refusal('auth.jwt-invalid')
      const claims = verifier.claimsOf(token)
      if (!(claims instanceof Promise)) return userOf(request, claims)
      return claims.then((later) => {
        if (isGone(request)) throw ABANDONED
        return userOf(request, later)
      })
    },
  }
}
