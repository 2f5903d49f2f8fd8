import { kRejectsAny, kTakesOpaque, type TakesOpaque } from '../authenticators/jwt.js'
import { rejection } from '../errors/errors.js'
import { credentialsOf, MALFORMED } from '../http/authorization.js'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { defaults, withDefaults } from '../options/defaults.js'
import { resolveIssuers, type Introspecting, type ResolvedIssuer } from './options.js'
import { setClaims, setGrants, setLevel, type Grants } from '../request/state.js'
import { unverifiedPart } from '../tokens/claims.js'
import { askForUser, requireTrust } from '../users/user.js'
import { isJwt, IssuerVerifier } from './verifier.js'
import type { FastifyRequest } from 'fastify'
import type { Feature, FeatureContext, Registration } from '../feature.js'
import type { Fetch } from '../http/fetch.js'
import type { Introspection } from './introspection/introspection.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthnOptions } from '../../types/options.js'
import type { JwtClaims } from '../../types/request-extra.js'

export { schema } from './options.js'

type Issuers = NonNullable<AuthnOptions['issuers']>

/** The code of introspection is loaded only where an issuer has it. */
export async function resolve(given: Issuers) {
  const isOn = Object.values(given).some(({ introspection }) => introspection !== undefined)
  return { given, code: isOn ? await import('./introspection/introspection.js') : null }
}

type Resolved = Awaited<ReturnType<typeof resolve>>

export interface IssuersTesting {
  /** From now on, the server of the issuer is not asked: it has these keys, and `send` introspects. */
  replace(
    name: string,
    makeKeys: (issuer: ResolvedIssuer) => object,
    send: Fetch,
  ): ResolvedIssuer | undefined
  /** What the options `roles` and `scopes` of an issuer find in claims. */
  grantsOf(authenticator: Authenticator, claims: JwtClaims): Grants | null | undefined
}

/** The option `issuers`: an authenticator for each. It fetches nothing before `ready()`. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<Resolved>): Feature {
  const { resolved, resolvedBefore, options, jwtService, log, registration } = context
  const taken = Object.keys(options.authenticators)
  const given = options.jwt?.tokenCache
  const cache = given !== false && withDefaults(defaults.tokenCache, given)
  const audience = resolvedBefore.resource?.audience
  let registrations: readonly Registration[] = []
  const isForeign = (request: FastifyRequest): boolean =>
    registrations.some(({ features }) => features.some((each) => isForOther(each, request)))
  const all = resolveIssuers(resolved.given, taken, jwtService.issuer, audience)
  const opened = all.map((each) => {
    const issuer = { ...each, registration }
    const verifier = new IssuerVerifier(issuer, cache, log)
    const introspection =
      issuer.introspection && resolved.code
        ? new resolved.code.Introspection(issuer as Introspecting, isForeign, log)
        : null
    const authenticator = issuerAuthenticator(verifier, introspection, options.userServiceTimeout)
    const { source } = verifier
    return { name: issuer.name, authenticator, verifier, source, introspection }
  })

  return {
    name: 'issuers',
    authenticators: Object.fromEntries(opened.map((each) => [each.name, each.authenticator])),
    check(_, found) {
      registrations = found
    },
    ready() {
      // Introspection may be all that is needed.
      for (const { source, introspection } of opened) if (!introspection) void source.begin()
    },
    stats: () =>
      Object.fromEntries(
        opened.map(({ name, source, introspection }) => {
          const more = introspection && { introspection: introspection.stats() }
          return [name, { ...source.stats(), ...more }]
        }),
      ),
    stop() {
      for (const { source, introspection } of opened) {
        source.stop()
        introspection?.endpoint.stop()
      }
    },
    testing: {
      replace(name, makeKeys, send) {
        const found = opened.find((each) => each.name === name)
        found?.source.replace(makeKeys(found.verifier.issuer))
        found?.introspection?.endpoint.replace(send)
        return found?.verifier.issuer
      },
      grantsOf: (authenticator, claims) =>
        opened.find((each) => each.authenticator === authenticator)?.verifier.grantsOf(claims),
    } satisfies IssuersTesting,
  }
}

/** Accepts access tokens in `Authorization` (RFC 6750 §2.1). @param timeout - seconds for `user`, and for `trusted` */
function issuerAuthenticator(
  verifier: IssuerVerifier,
  introspection: Introspection | null,
  timeout: number | undefined,
): Authenticator {
  const { issuer, trusted, user, level } = verifier.issuer
  const asksAboutJwts = verifier.issuer.introspection?.jwt === true

  async function userOf(request: FastifyRequest, claims: JwtClaims): Promise<object> {
    if (isGone(request)) throw ABANDONED
    setClaims(request, claims)
    if (trusted !== undefined) await requireTrust(trusted, claims, request, timeout)
    const found = await askForUser(() => user(claims, request), timeout, 'user() of an issuer')
    setGrants(request, verifier.grantsOf(claims))
    setLevel(request, level)
    return found
  }

  const authenticator: TakesOpaque & { [kRejectsAny]: true } = {
    [kRejectsAny]: true,
    ...(introspection && { [kTakesOpaque]: (request) => introspection.takes(request) }),
    scheme: 'Bearer',
    openapi: {
      type: 'http',
      scheme: 'bearer',
      ...(introspection === null && { bearerFormat: 'JWT' }),
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
      const claims =
        introspection !== null && (asksAboutJwts || !isJwt(token))
          ? introspection.claimsOf(token, request)
          : verifier.claimsOf(token, request)
      return claims instanceof Promise
        ? claims.then((later) => userOf(request, later))
        : userOf(request, claims)
    },
  }
  return authenticator
}

/** Whether another feature knows the token by its form, so that the issuer must not see it, wherever it is sent. */
function isForOther(feature: Feature, request: FastifyRequest): boolean {
  const { name, authenticators = {}, knows } = feature
  if (name === 'issuers') return false
  const token = String(credentialsOf(request.headers.authorization, 'Bearer'))
  return knows?.(token) || Object.values(authenticators).some((each) => each.accepts?.(request))
}
