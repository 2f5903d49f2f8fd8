import { rejection, wrongOption } from '../errors/errors.js'
import { credentialsOf, MALFORMED } from '../http/authorization.js'
import { jwtAuthenticatorSchema } from '../options/authenticator-schemas.js'
import { check } from '../options/check.js'
import { defaults, withDefaults, type Resolved } from '../options/defaults.js'
import { setClaims } from '../request/state.js'
import { findUser, isUsableName, requireTrust, requireUser } from '../users/user.js'
import { checkKind, unverifiedPart } from '../tokens/claims.js'
import { perRegistration } from '../request/registration.js'
import type { Registration } from '../feature.js'
import type { FastifyRequest } from 'fastify'
import type { TokenSource } from '../tokens/issued.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { JwtAuthenticatorOptions } from '../../types/options.js'

/** Marks authenticators for tokens of our own keys. An app that wraps one by spreading it keeps the mark. */
const kLocalTokens = Symbol('fastify-authn.own-tokens')

/** Marks authenticators of JWTs, which among others for Bearer reject what no one accepts. Wrappers keep it too. */
export const kRejectsAny = Symbol('fastify-authn.rejects-any')

/** The key of a function that tells whether a token is opaque: its authenticator gets those that no other accepts. */
export const kTakesOpaque = Symbol('fastify-authn.takes-opaque')

export type TakesOpaque = Authenticator & { [kTakesOpaque]?: (request: FastifyRequest) => boolean }

interface LocalTokens {
  [kRejectsAny]?: true
  [kLocalTokens]?: Resolved<JwtAuthenticatorOptions, typeof defaults.jwtAuthenticator>
}

/**
 * JSON Web Tokens (RFC 7519) in the `Authorization` header (RFC 6750 section 2.1); with the option `cookies` of the
 * plugin, in a cookie where there is no such header.
 *
 * The signature is verified first, then the claims. A token is rejected if its claim `typ`, `token_use`, `token_type` or
 * `type` says that it is no access token (`refresh`, for example). The claim `claimName` names the user, by a non-empty
 * string or a finite number. The user service is asked for that user at every request.
 *
 * Beside other authenticators for Bearer it accepts the tokens that have this claim and that no other one accepts.
 * @param options - what is left out comes from the options of the plugin
 * @throws ERR_AUTH_OPTION; at startup, ERR_AUTH_KEY when there is no fitting key
 */
export function jwtAuthenticator<Stored extends object>(
  options: JwtAuthenticatorOptions<Stored> = {},
): Authenticator<Stored> {
  const given = check<JwtAuthenticatorOptions>(jwtAuthenticatorSchema, options, 'jwtAuthenticator')
  const own = withDefaults(defaults.jwtAuthenticator, given)
  const { userService, optional, claimName, signingMethod, trusted, ...rules } = own

  const state = perRegistration('jwtAuthenticator', (registration) => {
    const { jwtService, options: shared } = registration
    const service = userService ?? shared.userService
    if (service === undefined) {
      wrongOption(
        'option "userService" is missing: jwtAuthenticator needs one that finds the users of tokens.',
      )
    }
    if ((shared.jwt ?? shared.jwtService) === undefined) {
      wrongOption(
        'option "jwt" is missing: jwtAuthenticator needs one with the keys that verify tokens.',
      )
    }
    const verify = jwtService.verifier(signingMethod, rules, 'jwtAuthenticator')
    const { typ } = jwtService.rulesOf(rules)
    return { service, verify, typ, registration }
  })

  const authenticator: Authenticator<Stored> & LocalTokens = {
    [kLocalTokens]: own,
    [kRejectsAny]: true,
    scheme: 'Bearer',
    openapi: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'An access token of this API',
    },
    optional,
    init: state.init,
    accepts(request) {
      let token: string | null
      const { typ, registration } = state.of(request)
      const { jwtService, tokenSources } = registration
      try {
        token = localTokenIn(request, tokenSources)
      } catch {
        // authenticate() rejects the request with this error.
        return true
      }
      if (token === null) return false
      const [header, claims] = [unverifiedPart(token, 0), unverifiedPart(token, 1)]
      if (header === null || claims === null || !Object.hasOwn(claims, claimName)) return false
      return jwtService.isMeant(header, signingMethod, typ)
    },
    authenticate(request) {
      const { service, verify, registration } = state.of(request)
      const { options: shared, tokenSources, tokenChecks } = registration
      const token = localTokenIn(request, tokenSources)
      if (token === null) return null
      const claims = verify(token)
      checkKind(claims)
      for (const each of tokenChecks) each.claims?.(claims)
      setClaims(request, claims, true)
      const name = claims[claimName]
      if (!isUsableName(name)) throw rejection('auth.jwt-invalid', { cause: `claim ${claimName}` })
      const accept = (user: object | null): object => {
        const accepted = requireUser(user)
        for (const each of tokenChecks) each.user?.(accepted, claims)
        return accepted
      }
      const timeout = shared.userServiceTimeout
      const find = () => findUser(service, name, request, timeout, accept) as Stored
      if (trusted === undefined) return find()
      return requireTrust(trusted, claims, request, timeout).then(find)
    },
  }
  return authenticator
}

/** Whether an authenticator verifies tokens by our own keys, and reads token sources too. */
export function readsLocalTokens(authenticator: Authenticator): boolean {
  return kLocalTokens in authenticator
}

/**
 * The access token of a request. Where there is an `Authorization` header, whatever it holds, no other place counts.
 * @throws AuthenticationError for a malformed header, and for a request that must not use its token
 * @internal
 */
export function localTokenIn(
  request: FastifyRequest,
  sources: readonly TokenSource[],
): string | null {
  const { authorization } = request.headers
  if (authorization !== undefined) {
    const credentials = credentialsOf(authorization, 'Bearer')
    if (credentials === MALFORMED) throw rejection('auth.jwt-invalid')
    return credentials || null
  }
  for (const source of sources) {
    const token = source.find(request)
    if (token !== null) return token
  }
  return null
}

/** The tokens that an authenticator accepts, and the user service that it asks. Undefined for other keys. @internal */
export function tokensOf(
  { [kLocalTokens]: own }: Authenticator & LocalTokens,
  { jwtService, options }: Registration,
) {
  if (own === undefined) return undefined
  const { optional: _, trusted: __, claimName, signingMethod, ...others } = own
  const { userService = options.userService, ...rules } = others
  return {
    ...jwtService.rulesOf(rules),
    userService,
    claimName,
    signingMethod: signingMethod ?? jwtService.signingMethod,
    keys: () => jwtService.fingerprints(signingMethod),
  }
}
