import type { FastifyRequest } from 'fastify'
import { refusal } from '../errors.js'
import { credentialsOf, MALFORMED } from '../http/authorization.js'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { perRegistration } from '../registration.js'
import { extraOf, setCredential } from '../request/state.js'
import { findUser, requireUser } from '../users/user.js'
import { idOf, keyChecker } from './key.js'
import type { KeyLookup, KnownKey } from './lookup.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { UserService } from '../../types/user-service.js'

/**
 * The authenticator of API keys, in the `Authorization` header (RFC 6750 §2.1) or in a header of the app's choice.
 *
 * @param header - in lower case; undefined for `Authorization` alone
 */
export function apiKeyAuthenticator(
  prefix: string,
  header: string | undefined,
  userService: UserService,
  lookup: KeyLookup,
): Authenticator {
  const check = keyChecker(prefix)
  const start = `${prefix}_`
  const state = perRegistration('apiKey', (registration) => registration)

  /** @throws ERR_AUTH_MALFORMED_CREDENTIALS where the header of the app's choice was sent twice */
  function credentialsIn(request: FastifyRequest): string | typeof MALFORMED | null {
    const bearer = credentialsOf(request.headers.authorization, 'Bearer') || null
    if (bearer !== null || header === undefined) return bearer
    const value = request.headers[header]
    if (!value) return null
    // Node joins the values of several headers by commas.
    if (typeof value === 'string' && !value.includes(',')) return value
    throw refusal('auth.no-credentials-provided', {
      code: 'ERR_AUTH_MALFORMED_CREDENTIALS',
      cause: `two headers ${header}`,
    })
  }

  function enter(request: FastifyRequest, { shown, scopes, expiresAt }: KnownKey) {
    const { userServiceTimeout } = state.of(request).options
    setCredential(request, scopes, { apiKeyId: shown.id })
    if (expiresAt !== null && expiresAt * 1000 <= Date.now()) throw refusal('auth.api-key-expired')
    const extra = extraOf(request)
    extra.apiKey = shown
    return findUser(userService, shown.owner, request, userServiceTimeout, (user) => {
      // The mode 'try' lets the request pass, and its handler must not see the key.
      if (user === null) extra.apiKey = undefined
      return requireUser(user)
    })
  }

  async function enterLater(request: FastifyRequest, text: string): Promise<object> {
    const id = idOf(text)
    setCredential(request, null, { apiKeyId: id })
    const found = await lookup.find(text)
    if (isGone(request)) throw ABANDONED
    // Not before the comparison: the right key passes, however many wrong ones came from its address.
    if (found === 'wrong secret') {
      await state.of(request).passwords.countRejectedToken(`api-key ${id}`, request)
    }
    if (typeof found === 'string') throw refusal('auth.api-key-invalid', { cause: found })
    const user = await enter(request, found)
    lookup.touch(found)
    return user
  }

  return {
    scheme: 'Bearer',
    openapi: {
      apiKeyAuth: { type: 'http', scheme: 'bearer', description: `An API key, \`${start}…\`` },
      ...(header !== undefined && { apiKeyHeader: { type: 'apiKey', in: 'header', name: header } }),
    },
    init: state.init,
    accepts(request) {
      const bearer = credentialsOf(request.headers.authorization, 'Bearer')
      if (bearer) return bearer !== MALFORMED && bearer.startsWith(start)
      return header !== undefined && Boolean(request.headers[header])
    },
    authenticate(request) {
      const text = credentialsIn(request)
      if (text === null) return null
      if (text === MALFORMED) throw refusal('auth.api-key-invalid', { cause: 'no API key' })
      const known = lookup.cached(text)
      if (known !== null) return enter(request, known)
      const problem = check(text)
      if (problem !== null) throw refusal('auth.api-key-invalid', { cause: problem })
      return enterLater(request, text)
    },
  }
}
