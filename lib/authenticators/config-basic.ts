import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { AuthnUsageError, refusal } from '../errors.js'
import { MALFORMED, parseBasic } from '../http/authorization.js'
import { checkBasicConfig } from '../options.js'
import { malformed } from './basic.js'
import { perRegistration } from './state.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { BasicConfig } from '../../types/options.js'
import type { BasicUser } from '../../types/user-service.js'

/**
 * HTTP Basic against one name and password of the configuration, for proofs of concept
 * (specification, "Basic authentication, config provider"). Both values are always compared, over
 * digests, in constant time.
 *
 * @param config - default: the option `basic` of the plugin
 * @throws ERR_AUTH_OPTION when a value is missing or could never be sent
 */
export function configBasicAuthenticator(config?: BasicConfig): Authenticator<BasicUser> {
  const own = config === undefined ? undefined : checkBasicConfig(config)

  const state = perRegistration('configBasicAuthenticator', ({ options }) => {
    if (own === undefined && options.basic === undefined) {
      throw new AuthnUsageError(
        'ERR_AUTH_OPTION',
        'option "basic" is missing: configBasicAuthenticator needs a username and a password (are AUTH_BASIC_USERNAME and AUTH_BASIC_PASSWORD set?).',
      )
    }
    return comparer(own ?? checkBasicConfig(options.basic))
  })

  return {
    scheme: 'Basic',
    openapi: { type: 'http', scheme: 'basic' },
    init: state.init,
    authenticate(request) {
      const matches = state.of(request)
      const pair = parseBasic(request.headers.authorization)
      if (pair === null) return null
      if (pair === MALFORMED) throw malformed()
      if (!matches(pair.username, pair.password)) {
        throw refusal('auth.invalid-credentials')
      }
      return { name: pair.username }
    },
  }
}

/** Digests have one length, and under a random key nothing can be told from how they compare. */
function comparer(config: Required<BasicConfig>): (name: string, password: string) => boolean {
  const key = randomBytes(32)
  const digest = (text: string | undefined): Buffer =>
    createHmac('sha256', key).update(String(text)).digest()
  const expectedName = digest(config.username)
  const expectedPassword = digest(config.password)
  return (name, password) => {
    const nameMatches = timingSafeEqual(digest(name), expectedName)
    const passwordMatches = timingSafeEqual(digest(password), expectedPassword)
    return nameMatches && passwordMatches
  }
}
