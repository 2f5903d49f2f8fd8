import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { refusal, wrongOption } from '../errors.js'
import { MALFORMED, parseBasic } from '../http/authorization.js'
import { check } from '../options/check.js'
import { basicSchema } from '../options/schemas.js'
import { malformed } from './basic.js'
import type { MatchesBasic } from '../registration.js'
import type { PasswordAttempt } from '../throttle/attempt.js'
import { kFacts, type KnownAuthenticator } from './facts.js'
import { perRegistration } from './per-registration.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { BasicConfig } from '../../types/options.js'
import type { BasicUser } from '../../types/user-service.js'

/**
 * HTTP Basic (RFC 7617) against one username and password from the configuration, for proofs of concept.
 *
 * @param config - default: the option `basic` of the plugin
 * @throws ERR_AUTH_OPTION when a value is missing or could never be sent
 */
export function configBasicAuthenticator(config?: BasicConfig): Authenticator<BasicUser> {
  const own = config === undefined ? undefined : basicComparer(check(basicSchema, config, 'basic'))

  const state = perRegistration('configBasicAuthenticator', ({ matchesBasic, passwords }) => {
    const matches = own ?? matchesBasic
    if (matches === undefined) {
      wrongOption(
        'option "basic" is missing: configBasicAuthenticator needs a username and a password (are AUTH_BASIC_USERNAME and AUTH_BASIC_PASSWORD set?).',
      )
    }
    return { matches, passwords }
  })

  const authenticator: KnownAuthenticator<BasicUser> = {
    [kFacts]: { busy: ({ throttle }) => (throttle === false ? [] : [429]) },
    scheme: 'Basic',
    openapi: { type: 'http', scheme: 'basic' },
    init: state.init,
    authenticate(request) {
      const { matches, passwords } = state.of(request)
      const pair = parseBasic(request.headers.authorization)
      if (pair === null) return null
      if (pair === MALFORMED) throw malformed()
      const { username, password } = pair
      return judge(passwords.openAttempt(username, password, request), matches(username, password))
    },
  }
  return authenticator
}

/** Answers with the result of the comparison, unless too many attempts have failed before. */
async function judge(attempt: PasswordAttempt, matches: boolean): Promise<BasicUser> {
  const isCached = attempt.isCached === true
  const checked = attempt.refuseIfThrottled(!isCached)
  if (!matches) attempt.countInAdvance()
  await checked
  if (!matches) {
    await attempt.commitFailure()
    throw refusal('auth.invalid-credentials')
  }
  await attempt.succeeded(isCached)
  return { name: attempt.username }
}

/**
 * Compares without telling by its time how much of a value is right: both values are always compared, as
 * digests of one length. The plain password is not kept: a digest under a random key tells nothing of it.
 */
export function basicComparer(config: BasicConfig): MatchesBasic {
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
