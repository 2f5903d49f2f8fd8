import type { FastifyRequest } from 'fastify'
import { refusal, wrongOption } from '../errors.js'
import { credentialsOf, MALFORMED } from '../http/authorization.js'
import { jwtAuthenticatorSchema } from '../options/authenticator-schemas.js'
import { check } from '../options/check.js'
import { defaults, filled, type ResolvedOptions } from '../options/resolve.js'
import { carriedBy } from '../request/carried.js'
import { proveClaims, setClaims } from '../request/extra.js'
import { findUser, isUsableName, known } from '../users/find.js'
import { kFacts, type BusyStatus, type KnownAuthenticator } from './facts.js'
import { perRegistration } from './per-registration.js'
import { tokenKindsOf } from '../tokens/token-kind.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { JwtAuthenticatorOptions } from '../../types/options.js'

/**
 * JSON Web Tokens (RFC 7519) in the `Authorization` header (RFC 6750 section 2.1); with the option `cookies` of the
 * plugin, in a cookie where there is no such header.
 *
 * The signature is judged first, then the claims; the claim `claimName` must be a non-empty string or
 * a finite number, and names the user that the user service is asked for on every request.
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

  const state = perRegistration('jwtAuthenticator', (registration, { prefix }) => {
    const { jwtService, options: shared, tokenUses, cookies, sessions, validAfter } = registration
    const service = userService ?? shared.userService
    if (service === undefined) missing('userService', 'that finds the users of tokens')
    if (jwtService === null) missing('jwt', 'with the keys that verify tokens')
    const verify = jwtService.verifier(signingMethod, rules, 'jwtAuthenticator')
    const kinds = tokenKindsOf(jwtService, signingMethod, rules)
    tokenUses.push(...kinds.map((kind) => ({ ...kind, userService: service, prefix })))

    /** The token of a request. Where there is an `Authorization` header, whatever it holds, no cookie counts. */
    function tokenIn(request: FastifyRequest): string | typeof MALFORMED | null {
      const { authorization } = request.headers
      if (cookies === null || authorization !== undefined)
        return credentialsOf(authorization, 'Bearer') || null
      return cookies.accessToken(request)
    }

    /** The name that the token of a request proves; null when there is no token. */
    function nameOf(request: FastifyRequest): string | number | null {
      const token = tokenIn(request)
      if (token === null) return null
      if (token === MALFORMED) throw refusal('auth.jwt-invalid')
      const claims = verify(token)
      sessions?.judge(claims)
      setClaims(request, claims)
      const name = claims[claimName]
      if (isUsableName(name)) return name
      throw refusal('auth.jwt-invalid', { cause: `claim ${claimName}` })
    }
    return { service, nameOf, timeout: shared.userServiceTimeout, validAfter }
  })

  const authenticator: KnownAuthenticator<Stored> = {
    [kFacts]: { readsCookie: true, accepted: [signingMethod, rules], busy: busyWithUsers },
    scheme: 'Bearer',
    openapi: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    optional,
    init: state.init,
    authenticate(request) {
      const { service, nameOf, timeout, validAfter } = state.of(request)
      const name = nameOf(request)
      if (name === null) return null
      const accept = (user: object | null): object => {
        const accepted = known(user)
        validAfter?.judge(accepted, carriedBy(request)?.claims?.iat)
        proveClaims(request)
        return accepted
      }
      return findUser(service, name, request, timeout, accept) as Stored | Promise<Stored>
    },
  }
  return authenticator
}

/** The status that tells a client to wait: 503, when the user service is too slow. */
function busyWithUsers({ userServiceTimeout }: ResolvedOptions): BusyStatus[] {
  return userServiceTimeout === undefined ? [] : [503]
}

function missing(option: string, what: string): never {
  wrongOption(`option "${option}" is missing: jwtAuthenticator needs one ${what}.`)
}
