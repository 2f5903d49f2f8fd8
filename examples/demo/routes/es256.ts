import { authn, EXTRA_JWT_CLAIMS, jwtAuthenticator, type UserService } from 'fastify-authn'
import type { FastifyInstance } from 'fastify'
import { shownLogin } from '../docs.js'

/** Tokens whose claims the app chooses itself, signed with the ECDSA key. */
export function es256Routes(userService: UserService) {
  return async (app: FastifyInstance) => {
    await app.register(authn, {
      userService,
      jwtService: app.jwtService,
      authenticators: {
        // `use` may name it. The user is looked up by `username`, in place of `sub`.
        reader: jwtAuthenticator({ signingMethod: 'ES256', claimName: 'username' }),
      },
      // POST /es256/login, with the `user` of the database
      login: {
        routeOptions: shownLogin,
        tokenFunc: (_request, user, jwtService) =>
          jwtService.generateTokenWithClaims(
            { sub: String(user.id), username: user.name, scope: 'read' },
            'ES256',
          ),
      },
    })

    app.get('/me', { config: { auth: { use: 'reader' } } }, (request) => ({
      user: request.user,
      scope: request.extra[EXTRA_JWT_CLAIMS]?.scope,
    }))
  }
}
