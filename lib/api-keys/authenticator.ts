import type { FastifyRequest } from 'fastify'
import { kNeverMeets, type Limited } from '../authenticators/limits.js'
import { rejection } from '../errors/errors.js'
import { credentialsOf } from '../http/authorization.js'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { registrationOf } from '../request/registration.js'
import type { Registration } from '../feature.js'
import { extraOf, setCredential } from '../request/state.js'
import { askForUser, findUser, requireUser } from '../users/user.js'
import { idOf, formatProblemOf } from './key.js'
import type { KeyLookup, KnownKey } from './lookup.js'
import type { ApiKeysOptions } from '../../types/api-keys.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { UserService } from '../../types/user-service.js'

/** Reads keys from `Authorization` (RFC 6750 §2.1) and from `header`, in lower case. `user` replaces `userService`. */
export function apiKeyAuthenticator(
  prefix: string,
  header: string | undefined,
  userService: UserService | undefined,
  user: ApiKeysOptions['user'],
  lookup: KeyLookup,
): Authenticator {
  const start = `${prefix}_`
  /** Malformed credentials are a string that is no key. */
  const bearerOf = ({ headers }: FastifyRequest): string =>
    String(credentialsOf(headers.authorization, 'Bearer') ?? '')
  const otherOf = ({ headers }: FastifyRequest): string =>
    header === undefined ? '' : String(headers[header] ?? '')

  function enter(
    request: FastifyRequest,
    { shown, scopes, expiresAt }: KnownKey,
  ): object | Promise<object> {
    const { options } = registrationOf(request.server) as Registration
    setCredential(request, null, { apiKeyId: shown.id })
    if (expiresAt && expiresAt.getTime() <= Date.now()) throw rejection('auth.api-key-expired')
    const grants = { scopes, isLimit: true }
    setCredential(request, grants, { apiKeyId: shown.id }, { apiKey: shown })
    const extra = extraOf(request)
    const { userServiceTimeout: timeout } = options
    // The mode 'try' lets the request pass, and its handler must not see the key.
    const withoutKey = (error: unknown): never => {
      extra.apiKey = undefined
      throw error
    }
    try {
      const found =
        user === undefined
          ? findUser(userService as UserService, shown.owner, request, timeout, requireUser)
          : askForUser(() => user(shown.owner, request), timeout, 'user() of apiKeys')
      return found instanceof Promise ? found.catch(withoutKey) : found
    } catch (error) {
      return withoutKey(error)
    }
  }

  async function enterLater(request: FastifyRequest, text: string): Promise<object> {
    const problem = formatProblemOf(text, start)
    if (problem !== null) throw invalid(problem)
    const id = idOf(text)
    setCredential(request, null, { apiKeyId: id })
    const found = await lookup.find(text, request)
    if (isGone(request)) throw ABANDONED
    // Wrong keys count after the comparison: the right key passes, however many wrong ones came from its address.
    if (found === 'wrong secret') {
      const { attempts } = registrationOf(request.server) as Registration
      await attempts.countRejectedToken(`api-key ${id}`, request)
    }
    if (typeof found === 'string') throw invalid(found)
    const user = await enter(request, found)
    lookup.touch(found)
    return user
  }

  const authenticator: Authenticator & Limited = {
    [kNeverMeets]: ['mfa', 'fresh'],
    scheme: 'Bearer',
    openapi: {
      apiKeyAuth: { type: 'http', scheme: 'bearer', description: `An API key, \`${start}…\`` },
      ...(header !== undefined && { apiKeyHeader: { type: 'apiKey', in: 'header', name: header } }),
    },
    accepts(request) {
      const bearer = bearerOf(request)
      return bearer === '' ? otherOf(request) !== '' : bearer.startsWith(start)
    },
    authenticate(request) {
      const bearer = bearerOf(request)
      const text = bearer || otherOf(request)
      if (text === '') return null
      // Node joins the values of several headers by commas.
      if (bearer === '' && text.includes(',')) {
        const code = 'ERR_AUTH_MALFORMED_CREDENTIALS'
        throw rejection('auth.no-credentials-provided', { code, cause: `two headers ${header}` })
      }
      const known = lookup.cached(text)
      return known === undefined ? enterLater(request, text) : enter(request, known)
    },
  }
  return authenticator
}

const invalid = (cause: string): Error => rejection('auth.api-key-invalid', { cause })
