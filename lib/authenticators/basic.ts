import { AuthenticationError, AuthnUsageError, refusal } from '../errors.js'
import { MALFORMED, parseBasic } from '../http/authorization.js'
import { checkBasicAuthenticatorOptions } from '../options.js'
import { busyStatuses } from '../password-tools.js'
import { kBusy } from '../symbols.js'
import { perRegistration } from './state.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { BasicAuthenticatorOptions } from '../../types/options.js'

/**
 * HTTP Basic against the user service and bcrypt (RFC 7617; specification, "Basic authentication,
 * database provider").
 *
 * @param options - what is left out comes from the options of the plugin
 * @throws ERR_AUTH_OPTION
 */
export function basicAuthenticator<Stored extends object>(
  options: BasicAuthenticatorOptions<Stored> = {},
): Authenticator<Stored> {
  const { userService, passwordField, optional = false } = checkBasicAuthenticatorOptions(options)

  const state = perRegistration('basicAuthenticator', (registration) => {
    const { options: shared, hiddenFields } = registration
    const service = userService ?? shared.userService
    if (service === undefined) {
      throw new AuthnUsageError(
        'ERR_AUTH_OPTION',
        'option "userService" is missing: basicAuthenticator needs one that finds users.',
      )
    }
    const field = passwordField ?? shared.passwordField
    hiddenFields.add(field)
    return registration.credentialCheck(service, field, 'basic')
  })

  const authenticator: Authenticator<Stored> & { [kBusy]: typeof busyStatuses } = {
    [kBusy]: busyStatuses,
    scheme: 'Basic',
    openapi: { type: 'http', scheme: 'basic' },
    optional,
    init: state.init,
    authenticate(request) {
      const check = state.of(request)
      const pair = parseBasic(request.headers.authorization)
      if (pair === null) return null
      if (pair === MALFORMED) throw malformed()
      return check(pair.username, pair.password, request) as Stored | Promise<Stored>
    },
  }
  return authenticator
}

/** A Basic header that is none; also where credentials are optional, it is refused. */
export function malformed(): AuthenticationError {
  return refusal('auth.no-credentials-provided', {
    code: 'ERR_AUTH_MALFORMED_CREDENTIALS',
  })
}
