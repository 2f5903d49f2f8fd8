import type { FastifyRequest } from 'fastify'
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

  async function userOf(request: FastifyRequest, claims: JwtClaims): Promise<object> {
    if (isGone(request)) throw ABANDONED
    setClaims(request, claims)
    // RFC 9068 §2.2 requires it, and a database that is asked for `undefined` may return its first row.
    if (!isUsableName(claims.sub)) throw invalidToken('claim sub')
    try {
      const found = await withUserTimeout((async () => user(claims, request))(), timeout)
      return requireUser(checkUser(found, 'user() of an issuer'))
    } catch (error) {
      throw refusalOrFault('ERR_AUTH_USER_SERVICE', error)
    }
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
      return claims instanceof Promise
        ? claims.then((later) => userOf(request, later))
        : userOf(request, claims)
    },
  }
}
