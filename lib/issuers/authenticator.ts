import type { FastifyRequest } from 'fastify'
import { kFacts, type KnownAuthenticator } from '../authenticators/facts.js'
import { refusal } from '../errors.js'
import { credentialsOf, MALFORMED } from '../http/authorization.js'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { proveClaims, setClaims } from '../request/extra.js'
import { isUsableName } from '../users/find.js'
import { invalidToken } from '../tokens/invalid.js'
import type { FindUser } from './user.js'
import type { IssuerJudge } from './judge.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** The authenticator of an issuer's tokens in the `Authorization` header (RFC 6750 §2.1). */
export function issuerAuthenticator(
  judge: IssuerJudge,
  find: FindUser,
  issuer: string,
): Authenticator {
  function identify(request: FastifyRequest, claims: JwtClaims): object | Promise<object> {
    setClaims(request, claims)
    // RFC 9068 §2.2 requires it, and a database that is asked for `undefined` may return its first row.
    if (!isUsableName(claims.sub)) throw invalidToken('claim sub')
    return find(claims, request, (user) => {
      proveClaims(request)
      return user
    })
  }

  const authenticator: KnownAuthenticator = {
    [kFacts]: { busy: () => [503] },
    scheme: 'Bearer',
    openapi: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: `An access token of ${issuer}`,
    },
    authenticate(request) {
      const token = credentialsOf(request.headers.authorization, 'Bearer')
      if (token === null || token === '') return null
      if (token === MALFORMED) throw refusal('auth.jwt-invalid')
      const claims = judge.claimsOf(token)
      if (!(claims instanceof Promise)) return identify(request, claims)
      return claims.then((later) => {
        if (isGone(request)) throw ABANDONED
        return identify(request, later)
      })
    },
  }
  return authenticator
}
