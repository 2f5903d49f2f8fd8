import type { FastifyRequest } from 'fastify'
import { AuthnUsageError, refusal } from '../errors.js'
import { credentialsOf, MALFORMED, parseBearer } from '../http/authorization.js'
import { checkJwtAuthenticatorOptions } from '../options.js'
import { setClaims } from '../extra.js'
import { findUser, handUser, isUsableName, known } from '../users.js'
import { setDirect } from '../verdict.js'
import { JwtService } from '../jwt/service.js'
import { kBusy } from '../symbols.js'
import { perRegistration } from './state.js'
import type { ResolvedOptions } from '../options.js'
import type { BusyStatus } from '../password-tools.js'
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

    /** The name that the token of a request proves; null when there is no token. */
    function nameOf(request: FastifyRequest): string | number | null {
      const token = tokenOf(request.headers.authorization)
      if (token === null) return null
      if (token === MALFORMED) throw refusal('auth.jwt-invalid')
      const claims = verify(token)
      setClaims(request, claims)
      const name = claims[claimName]
      if (isUsableName(name)) return name
      throw refusal('auth.jwt-invalid', { cause: `claim ${claimName}` })
    }
    return { service, nameOf, timeout: shared.userServiceTimeout }
  })

  function authenticate(request: FastifyRequest): Stored | null | Promise<Stored> {
    const { service, nameOf, timeout } = state.of(request)
    const name = nameOf(request)
    if (name === null) return null
    return findUser(service, name, request, timeout, known) as Stored | Promise<Stored>
  }

  setDirect(authenticate, (request, verdict) => {
    try {
      const { service, nameOf, timeout } = state.of(request)
      const name = nameOf(request)
      if (name === null) return verdict.judge(null)
      handUser(service, name, request, timeout, verdict)
    } catch (error) {
      verdict.fail(error)
    }
  })

  const authenticator: Authenticator<Stored> & { [kBusy]: typeof busyStatuses } = {
    [kBusy]: busyStatuses,
    scheme: 'Bearer',
    openapi: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    optional,
    init: state.init,
    authenticate,
  }
  return authenticator
}

/** Only a user service that takes too long keeps those with a token waiting. */
function busyStatuses({ userServiceTimeout }: ResolvedOptions): BusyStatus[] {
  return userServiceTimeout === undefined ? [] : [503]
}

/** What follows `Bearer`, not yet held against the grammar. */
function bearerCredentials(header: string | undefined): string | typeof MALFORMED | null {
  return credentialsOf(header, 'Bearer') || null
}

function missing(option: string, what: string): never {
  throw new AuthnUsageError(
    'ERR_AUTH_OPTION',
    `option "${option}" is missing: jwtAuthenticator needs one ${what}.`,
  )
}
