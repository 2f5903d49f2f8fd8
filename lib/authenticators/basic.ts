import { AuthenticationError, rejection, wrongOption } from '../errors/errors.js'
import { MALFORMED, parseBasic } from '../http/authorization.js'
import { basicAuthenticatorSchema } from '../options/authenticator-schemas.js'
import { check } from '../options/check.js'
import { defaults, withDefaults } from '../options/defaults.js'
import { setLevel } from '../request/state.js'
import { kNeverMeets, type Limited } from './limits.js'
import { isSameService } from './shared-keys.js'
import { perRegistration } from '../request/registration.js'
import type { LevelRules } from '../request/level-rules.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { BasicAuthenticatorOptions } from '../../types/options.js'

/** Marks authenticators that hash passwords, and so may be busy. An app that wraps one by spreading it keeps the mark. */
const kHashes = Symbol('fastify-authn.hashes')

export function hashesPasswords(authenticator: Authenticator): boolean {
  return kHashes in authenticator
}

/**
 * HTTP Basic (RFC 7617): finds the user by the user service, and compares the password with the stored hash.
 * @param options - what is left out comes from the options of the plugin
 * @throws ERR_AUTH_OPTION
 */
export function basicAuthenticator<Stored extends object>(
  options: BasicAuthenticatorOptions<Stored> = {},
): Authenticator<Stored> {
  const given = check<typeof options>(basicAuthenticatorSchema, options, 'basicAuthenticator')
  const { userService, passwordField, optional } = withDefaults(defaults.basicAuthenticator, given)

  const state = perRegistration('basicAuthenticator', (registration) => {
    const { options: shared, hiddenFields, withSecondFactor } = registration
    const service = userService ?? shared.userService
    if (service === undefined) {
      wrongOption('option "userService" is missing: basicAuthenticator needs one that finds users.')
    }
    const field = passwordField ?? shared.passwordField
    hiddenFields.add(field)
    return registration.passwords.basicCheck({
      userService: service,
      passwordField: field,
      // A password alone must not go around a second factor. Another registration may find the same users by a service
      // of its own, and then the field tells.
      isClosed: (user) =>
        [...withSecondFactor].some((each) => {
          const isSame = each === registration || isSameService(service, each.options.userService)
          return each.secondFactor?.isOn(user, !isSame)
        }),
    })
  })

  const authenticator: Authenticator<Stored> & Limited & { [kHashes]: true } = {
    [kHashes]: true,
    [kNeverMeets]: ['mfa'],
    scheme: 'Basic',
    openapi: { type: 'http', scheme: 'basic' },
    optional,
    init: (app) => state.init(app),
    authenticate(request) {
      const check = state.of(request)
      const pair = parseBasic(request.headers.authorization)
      if (pair === null) return null
      if (pair === MALFORMED) throw malformed()
      return check(pair.username, pair.password, request).then(({ user }) => {
        setLevel(request, presented)
        return user as Stored
      })
    },
  }
  return authenticator
}

/** The password comes with each request, and is one factor. */
const presented: LevelRules = { authTime: () => Date.now() / 1000 }

/** The error of a Basic header that breaks RFC 7617, which is rejected even if credentials are optional. */
export function malformed(): AuthenticationError {
  return rejection('auth.no-credentials-provided', { code: 'ERR_AUTH_MALFORMED_CREDENTIALS' })
}
