import { AuthnUsageError, refusal } from '../errors.js'
import { credentialsOf, MALFORMED, parseBearer } from '../http/authorization.js'
import { checkJwtAuthenticatorOptions } from '../options.js'
import { EXTRA_JWT_CLAIMS } from '../extra.js'
import { findUser, isUsableName } from '../users.js'
import { JwtService } from '../jwt/service.js'
import { perRegistration } from './state.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { JwtAuthenticatorOptions } from '../../types/options.js'

/**
 * JSON Web Tokens in the `Authorization` header (RFC 6750 §2.1, RFC 7519; specification, "JWT").
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
  const {
    userService,
    optional = false,
    claimName = 'sub',
    signingMethod,
    ...rules
  } = checkJwtAuthenticatorOptions(options)

  const state = perRegistration('jwtAuthenticator', (registration) => {
    const { jwtService, options: shared } = registration
    const service = userService ?? shared.userService
    if (service === undefined) missing('userService', 'that finds the users of tokens')
    if (jwtService === null) missing('jwt', 'with the keys that verify tokens')
    const verify = jwtService.verifier(signingMethod, rules, 'jwtAuthenticator')
    // Ours looks at the letters itself, and not again at those of a token that it remembers.
    const tokenOf = jwtService instanceof JwtService ? bearerCredentials : parseBearer
    return { service, verify, tokenOf, timeout: shared.userServiceTimeout }
  })

  return {
    scheme: 'Bearer',
    optional,
    init: state.init,
    authenticate(request) {
      const { service, verify, tokenOf, timeout } = state.of(request)
      const token = tokenOf(request.headers.authorization)
      if (token === null) return null
      if (token === MALFORMED) throw refusal('auth.jwt-invalid')
      const claims = verify(token)
      request.extra[EXTRA_JWT_CLAIMS] = claims
      const name = claims[claimName]
      if (!isUsableName(name)) {
        throw refusal('auth.jwt-invalid', { cause: `claim ${claimName}` })
      }
      return findUser(service, name, request, timeout, known) as Stored | Promise<Stored>
    },
  }
}

/** What follows `Bearer`, not yet held against the grammar. */
function bearerCredentials(header: string | undefined): string | typeof MALFORMED | null {
  return credentialsOf(header, 'bearer') || null
}

function known(user: object | null): object {
  if (user === null) throw refusal('auth.invalid-credentials')
  return user
}

function missing(option: string, what: string): never {
  throw new AuthnUsageError(
    'ERR_AUTH_OPTION',
    `option "${option}" is missing: jwtAuthenticator needs one ${what}.`,
  )
}
