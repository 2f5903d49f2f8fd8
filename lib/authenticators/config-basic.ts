import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { rejection, wrongOption } from '../errors/errors.js'
import { MALFORMED, parseBasic, type BasicPair } from '../http/authorization.js'
import { check } from '../options/check.js'
import { basicSchema } from '../options/schemas.js'
import { malformed } from './basic.js'
import { kNeverMeets, type Limited } from './limits.js'
import { nfcOf } from '../passwords/nfc.js'
import { perRegistration } from '../request/registration.js'
import type { Attempt } from '../throttle/attempt.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { BasicConfig } from '../../types/options.js'
import type { BasicUser } from '../../types/user-service.js'

/**
 * HTTP Basic (RFC 7617) against one username and password from the configuration, for proofs of concept.
 * @param config - default: the option `basic` of the plugin
 * @throws ERR_AUTH_OPTION when a value is missing or could never be sent
 */
export function configBasicAuthenticator(config?: BasicConfig): Authenticator<BasicUser> {
  const own = config && check<BasicConfig>(basicSchema, config, 'basic')

  const state = perRegistration('configBasicAuthenticator', ({ options, attempts }) => {
    const { username, password } = own ?? options.basic ?? {}
    if (username === undefined || password === undefined) {
      wrongOption(
        'option "basic" is missing: configBasicAuthenticator needs a username and a password (are AUTH_BASIC_USERNAME and AUTH_BASIC_PASSWORD set?).',
      )
    }
    return { matches: comparer({ username, password }), attempts }
  })

  const authenticator: Authenticator<BasicUser> & Limited = {
    [kNeverMeets]: ['mfa', 'fresh'],
    scheme: 'Basic',
    openapi: { type: 'http', scheme: 'basic' },
    init: state.init,
    // A wrong password is left to a basicAuthenticator beside this one, which runs bcrypt: a faster rejection would
    // tell which username is the configured one.
    accepts(request) {
      const pair = parseBasic(request.headers.authorization)
      return pair !== null && pair !== MALFORMED && state.of(request).matches(pair)
    },
    authenticate(request) {
      const { matches, attempts } = state.of(request)
      const pair = parseBasic(request.headers.authorization)
      if (pair === null) return null
      if (pair === MALFORMED) throw malformed()
      const { username, password } = pair
      return finish(attempts.openAttempt(username, password, request), matches(pair))
    },
  }
  return authenticator
}

async function finish(attempt: Attempt, matches: boolean): Promise<BasicUser> {
  const isCached = attempt.isCached === true
  const checked = attempt.rejectIfThrottled(!isCached)
  if (!matches) attempt.countInAdvance()
  await checked
  if (!matches) {
    await attempt.commitFailure()
    throw rejection('auth.invalid-credentials')
  }
  await attempt.succeeded(isCached)
  return { name: attempt.username }
}

/** Compares in constant time, both at once: as digests of one length, under a random key. Passwords are compared in NFC. */
function comparer(expected: BasicPair): (pair: BasicPair) => boolean {
  const key = randomBytes(32)
  const digest = ({ username, password }: BasicPair): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([username, nfcOf(password)]))
      .digest()
  const expectedDigest = digest(expected)
  return (pair) => timingSafeEqual(digest(pair), expectedDigest)
}
