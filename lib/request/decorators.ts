import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import { ensureState, extraOf, kRequestState, stateOf } from './state.js'
import { MALFORMED, parseBearer } from '../http/authorization.js'
import { registrationOf, type Registration } from '../registration.js'
import type { ExtraJwtClaimsKey } from '../../types/request-extra.js'
import type { AuthUser, StoredUser } from '../../types/user-service.js'

/** The key under which `request.extra` holds the claims of a valid token. */
export const EXTRA_JWT_CLAIMS: ExtraJwtClaimsKey = 'jwtClaims'

const requestNames = ['user', 'extra', 'bearerToken'] as const

/**
 * Adds `user`, `extra`, `lang` and `bearerToken()` to the requests of a scope, once.
 *
 * @throws ERR_AUTH_DECORATOR when another plugin has one of the names; `lang` of an i18n plugin stays instead
 */
export function decorateRequests(app: FastifyInstance): void {
  if (app.hasRequestDecorator(kRequestState)) return
  for (const name of requestNames) {
    if (app.hasRequestDecorator(name)) throw takenError(name)
  }
  app.decorateRequest(kRequestState, undefined)
  // Getters, because scopes that were made before the plugin was registered inherit them, but not values.
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
    // Where a scope has called `decorateRequest('extra', null)` before, Fastify assigns that to each of its requests. Without
    // a setter that throws where nothing catches it, and ends the process.
    setter(this: FastifyRequest, extra: unknown): void {
      if (typeof extra === 'object' && extra !== null) {
        throw new TypeError('request.extra cannot be replaced: put something into it.')
      }
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
 * The user as the user service returned it, with the password hash, which `request.user` hides. Never send it.
 *
 * @returns null in anonymous requests
 */
export function storedUser<Stored extends object = StoredUser>(
  request: FastifyRequest,
): Stored | null {
  return (stateOf(request)?.stored ?? null) as Stored | null
}
