import { authn, jwtAuthenticator, type UsersOptions } from 'fastify-authn'
import type { FastifyInstance } from 'fastify'
import { shownLogin } from '../docs.js'

/**
 * A part of the app with tokens of its own: the plugin is registered again, and the nearest
 * registration counts. Tokens of POST /login are refused here, and those of here are refused elsewhere.
 */
export function rs256Routes(users: UsersOptions) {
  return async (app: FastifyInstance) => {
    await app.register(authn, {
      // The same people.
      users,
      // The keys are read: see app.ts.
      jwtService: app.jwtService,
      authenticator: jwtAuthenticator({ signingMethod: 'RS256' }),
      // POST /rs256/login
      login: { signingMethod: 'RS256', routeOptions: shownLogin },
    })

    app.get('/me', { config: { auth: true } }, (request) => request.user)
  }
}
