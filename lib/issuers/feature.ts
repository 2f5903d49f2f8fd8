import { kRejectsAny } from '../authenticators/jwt.js'
import { rejection } from '../errors/errors.js'
import { credentialsOf, MALFORMED } from '../http/authorization.js'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { defaults, withDefaults } from '../options/defaults.js'
import { resolveIssuers, type ResolvedIssuer } from './options.js'
import { setClaims, setGrants, type Grants } from '../request/state.js'
import { invalidToken, unverifiedPart } from '../tokens/claims.js'
import { askForUser, isUsableName, requireTrust } from '../users/user.js'
import { IssuerVerifier } from './verifier.js'
import type { FastifyRequest } from 'fastify'
import type { Feature, FeatureContext } from '../feature.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthnOptions } from '../../types/options.js'
import type { JwtClaims } from '../../types/request-extra.js'

export { schema } from './options.js'

type Issuers = NonNullable<AuthnOptions['issuers']>

export const resolve = (given: Issuers): Issuers => given

export interface IssuersTesting {
  replaceKeys(
    name: string,
    makeKeys: (issuer: ResolvedIssuer) => object,
  ): ResolvedIssuer | undefined
  /** What the options `roles` and `scopes` of an issuer find in claims. */
  grantsOf(authenticator: Authenticator, claims: JwtClaims): Grants | null | undefined
}

/** The option `issuers`: an authenticator for each. It fetches nothing before `ready()`. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<Issuers>): Feature {
  const { resolved, resolvedBefore, options, jwtService, log } = context
  const taken = Object.keys(options.authenticators)
  const given = options.jwt?.tokenCache
  const cache = given !== false && withDefaults(defaults.tokenCache, given)
  const { audience } = (resolvedBefore.resource ?? {}) as Partial<Pick<ResolvedIssuer, 'audience'>>
  const all = resolveIssuers(resolved, taken, jwtService.issuer, audience)
  const opened = all.map((issuer) => {
    const verifier = new IssuerVerifier(issuer, cache, log)
    const authenticator = issuerAuthenticator(verifier, options.userServiceTimeout)
    return { name: issuer.name, authenticator, verifier, source: verifier.source }
  })
  return {
    name: 'issuers',
    authenticators: Object.fromEntries(opened.map((each) => [each.name, each.authenticator])),
    ready() {
      for (const { source } of opened) void source.begin()
    },
    stats: () => Object.fromEntries(opened.map(({ name, source }) => [name, source.stats()])),
    stop() {
      for (const { source } of opened) source.stop()
    },
    testing: {
      replaceKeys(name, makeKeys) {
        const [verifier] = opened.flatMap((each) => (each.name === name ? each.verifier : []))
        verifier?.source.replace(makeKeys(verifier.issuer))
        return verifier?.issuer
      },
      grantsOf: (authenticator, claims) =>
        opened.find((each) => each.authenticator === authenticator)?.verifier.grantsOf(claims),
    } satisfies IssuersTesting,
  }
}

/** Accepts access tokens in `Authorization` (RFC 6750 §2.1). @param timeout - seconds for `user`, and for `trusted` */
function issuerAuthenticator(verifier: IssuerVerifier, timeout: number | undefined): Authenticator {
  const { issuer, trusted, user } = verifier.issuer

  async function userOf(request: FastifyRequest, claims: JwtClaims): Promise<object> {
    if (isGone(request)) throw ABANDONED
    setClaims(request, claims)
    // RFC 9068 §2.2 requires it, and a database that is asked for `undefined` may return its first row.
    if (!isUsableName(claims.sub)) throw invalidToken('claim sub')
    if (trusted !== undefined) await requireTrust(trusted, claims, request, timeout)
    const found = await askForUser(() => user(claims, request), timeout, 'user() of an issuer')
    setGrants(request, verifier.grantsOf(claims))
    return found
  }

  const authenticator: Authenticator & { [kRejectsAny]: true } = {
    [kRejectsAny]: true,
    scheme: 'Bearer',
    openapi: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: `An access token of ${issuer}`,
    },
    accepts({ headers }) {
      const token = credentialsOf(headers.authorization, 'Bearer')
      return typeof token === 'string' && unverifiedPart(token, 1)?.iss === issuer
    },
    authenticate(request) {
      const token = credentialsOf(request.headers.authorization, 'Bearer')
      if (token === null || token === '') return null
      if (token === MALFORMED) throw rejection('auth.jwt-invalid')
      const claims = verifier.claimsOf(token)
      return claims instanceof Promise
        ? claims.then((later) => userOf(request, later))
        : userOf(request, claims)
    },
  }
  return authenticator
}
