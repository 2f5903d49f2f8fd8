import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AuthnUsageError } from '../errors/errors.js'
import { MALFORMED, parseBearer } from '../http/authorization.js'
import { registrationOf } from './registration.js'
import type { Registration } from '../feature.js'
import { ensureState, extraOf, kRequestState, stateOf } from './state.js'
import type { AuthUser } from '../../types/user-service.js'

/**
 * Adds `user`, `extra`, `lang` and `bearerToken()` to the requests of a scope, once.
 * @throws ERR_AUTH_DECORATOR when another plugin has one of the names; `lang` of an i18n plugin stays instead
 */
export function decorateRequests(app: FastifyInstance): void {
  if (app.hasRequestDecorator(kRequestState)) return
  const taken = ['user', 'extra', 'bearerToken'].find((name) => app.hasRequestDecorator(name))
  if (taken !== undefined) {
    throw new AuthnUsageError(
      'ERR_AUTH_DECORATOR',
      `another plugin also decorates requests with "${taken}". Rename its decorator: @fastify/jwt takes { decoratorName: 'jwtUser' }, for example.`,
    )
  }
  app.decorateRequest(kRequestState, undefined)
  // These are getters, because scopes that were made before the plugin was registered inherit them, but not values.
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
    // After `decorateRequest('extra', null)` of a scope, Fastify assigns null to each of its requests. Without a setter,
    // that throws where nothing catches it, and ends the process.
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
      const { translator } = registrationOf(this.server) as Registration
      return (ensureState(this).lang ??= translator.negotiate(this.headers['accept-language']))
    },
    setter(this: FastifyRequest, language: string): void {
      ensureState(this).lang = language
    },
  })
}
