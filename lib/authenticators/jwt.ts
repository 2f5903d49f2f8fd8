import type { FastifyRequest } from 'fastify'
import { refusal, wrongOption } from '../errors.js'
import { MALFORMED } from '../http/authorization.js'
import { jwtAuthenticatorSchema } from '../options/authenticator-schemas.js'
import { check } from '../options/check.js'
import { defaults, filled } from '../options/resolve.js'
import { ownTokenIn } from '../request/own-token.js'
import { setClaims } from '../request/extra.js'
import { findUser, isUsableName, requireUser } from '../users/find.js'
import { unverifiedPart } from '../tokens/unverified.js'
import { registrationOf } from '../registration.js'
import { perRegistration } from './per-registration.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { JwtAuthenticatorOptions } from '../../types/options.js'

/** Marks the authenticators for tokens of our own keys, also where an app wraps one by spreading it. */
const kOwnTokens = Symbol('fastify-authn.own-tokens')

/**
 * JSON Web Tokens (RFC 7519) in the `Authorization` header (RFC 6750 section 2.1); with the option `cookies` of the
 * plugin, in a cookie where there is no such header.
 *
 * The signature is verified first, then the claims; the claim `claimName` must be a non-empty string or
 * a finite number, and names the user that the user service is asked for on every request.
 *
 * Beside other authenticators for Bearer it accepts the tokens that have this claim and that none of the others claims.
 *
 * @param options - what is left out comes from the options of the plugin
 * @throws ERR_AUTH_OPTION; while the app boots, ERR_AUTH_KEY when there is no fitting key
 */
export function jwtAuthenticator<Stored extends object>(
  options: JwtAuthenticatorOptions<Stored> = {},
): Authenticator<Stored> {
  const given = check<JwtAuthenticatorOptions>(jwtAuthenticatorSchema, options, 'jwtAuthenticator')
  const { userService, optional, claimName, signingMethod, ...rules } = filled(
    defaults.jwtAuthenticator,
    given,
  )

  const state = perRegistration('jwtAuthenticator', (registration) => {
    const { jwtService, options: shared, tokenSources, tokenChecks } = registration
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
    return {
      service,
      verify,
      jwtService,
      timeout: shared.userServiceTimeout,
      tokenSources,
      tokenChecks,
    }
  })

  const authenticator: Authenticator<Stored> & { [kOwnTokens]: true } = {
    [kOwnTokens]: true,
    scheme: 'Bearer',
    openapi: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    optional,
    init: state.init,
    accepts(request) {
      let token: string | typeof MALFORMED | null
      const { jwtService, tokenSources } = state.of(request)
      try {
        token = ownTokenIn(request, tokenSources)
      } catch {
        // It is authenticate() that rejects a request with such a token.
        return true
      }
      if (typeof token !== 'string') return token === MALFORMED
      const [header, claims] = [unverifiedPart(token, 0), unverifiedPart(token, 1)]
      if (header === null || claims === null || !Object.hasOwn(claims, claimName)) return false
      return jwtService.isMeant(header, signingMethod, rules) && !isClaimedByOthers(request)
    },
    authenticate(request) {
      const { service, verify, timeout, tokenSources, tokenChecks } = state.of(request)
      const token = ownTokenIn(request, tokenSources)
      if (token === null) return null
      if (token === MALFORMED) throw refusal('auth.jwt-invalid')
      const claims = verify(token)
      for (const each of tokenChecks) each.claims?.(claims)
      setClaims(request, claims)
      const name = claims[claimName]
      if (!isUsableName(name)) throw refusal('auth.jwt-invalid', { cause: `claim ${claimName}` })
      const accept = (user: object | null): object => {
        const accepted = requireUser(user)
        for (const each of tokenChecks) each.user?.(accepted, claims)
        return accepted
      }
      return findUser(service, name, request, timeout, accept) as Stored | Promise<Stored>
    },
  }
  return authenticator
}

/** Whether another authenticator of the registration, an issuer for instance, says that a token is its own. */
function isClaimedByOthers(request: FastifyRequest): boolean {
  const others = registrationOf(request.server)?.authenticators.values() ?? []
  return [...others].some((other) => !readsOwnTokens(other) && other.accepts?.(request) === true)
}

/** Whether an authenticator verifies tokens by our own keys, and finds them in token sources too. */
export function readsOwnTokens(authenticator: Authenticator): boolean {
  return kOwnTokens in authenticator
}
