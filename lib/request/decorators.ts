import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { ensureState, extraOf, kRequestState, stateOf } from './state.js'
import { MALFORMED, parseBearer } from '../http/authorization.js'
import { registrationOf, type Registration } from '../registration.js'
import type { AuthUser, StoredUser } from '../../types/user-service.js'

/** The decorators of requests that no other plugin may define. */
const requestNames = ['user', 'extra', 'bearerToken'] as const

/**
 * Adds `user`, `extra`, `lang` and `bearerToken()` to the requests of a scope, once.
 *
 * @throws ERR_AUTH_DECORATOR when another plugin has taken one of the names. `lang` is the exception: an
 * i18n plugin that has set it up wins.
 */
export function decorateRequests(app: FastifyInstance): void {
  if (app.hasRequestDecorator(kRequestState)) return
  for (const name of requestNames) {
    if (app.hasRequestDecorator(name)) throw takenError(name)
  }
  app.decorateRequest(kRequestState, undefined)
  // Getters, not values: a scope that was made before the plugin was registered has values of its own
  // requests, but inherits what stands on the prototype.
  app.decorateRequest('user', {
    getter(this: FastifyRequest): AuthUser {
      return (stateOf(this)?.user ?? null) as AuthUser
    },
    setter(this: FastifyRequest, user: AuthUser): void {
      ensureState(this).user = user
    },
  })
  app.decorateRequest('extra', {
    getter(this: FastifyRequest): Record<string, unknown> {
      return extraOf(this)
    },
  })
  app.decorateRequest('bearerToken', function bearerToken(this: FastifyRequest): string | null {
    const token = parseBearer(this.headers.authorization)
    return token === MALFORMED ? null : token
  })
  if (app.hasRequestDecorator('lang')) return
  app.decorateRequest('lang', {
    getter(this: FastifyRequest): string {
      return (ensureState(this).lang ??= negotiate(this))
    },
    setter(this: FastifyRequest, language: string): void {
      ensureState(this).lang = language
    },
  })
}

function negotiate(request: FastifyRequest): string {
  // Requests of a scope are only decorated where there is a registration.
  const { translator } = registrationOf(request.server) as Registration
  return translator.negotiate(request.headers['accept-language'])
}

function takenError(name: string): AuthnUsageError {
  return new AuthnUsageError(
    'ERR_AUTH_DECORATOR',
    `another plugin decorates requests with "${name}" too. Rename that one; for @fastify/jwt, register it with { decoratorName: 'jwtUser' } or the like.`,
  )
}

/**
 * The user as the user service returned it, password hash included. `request.user` hides the hash; ask
 * for this where the app needs it, and never send it.
 *
 * @returns null when nobody is authenticated
 */
export function storedUser<Stored extends object = StoredUser>(
  request: FastifyRequest,
): Stored | null {
  return (stateOf(request)?.stored ?? null) as Stored | null
}
