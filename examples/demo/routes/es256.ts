import { authn, EXTRA_JWT_CLAIMS, jwtAuthenticator, type UsersOptions } from 'fastify-authn'
import type { FastifyInstance } from 'fastify'
import { shownLogin } from '../docs.js'
import { body } from './notes.js'
import type { Notes } from '../notes.js'
import type { TypeBoxProvider } from '../typebox.js'

/** What a token lets its bearer do, whoever it is: RFC 8693 section 4.2. Only editors get a token that writes. */
const scopeFor = (roles: readonly string[]): string =>
  roles.includes('editor') ? 'notes:read notes:write' : 'notes:read'

/** Tokens whose claims the app chooses itself, signed with the ECDSA key. */
export function es256Routes(users: UsersOptions, notes: Notes) {
  return async (server: FastifyInstance) => {
    const app = server.withTypeProvider<TypeBoxProvider>()
    await app.register(authn, {
      users,
      jwtService: app.jwtService,
      authenticators: {
        // `use` may name it. The user is looked up by `uid`, in place of `sub`.
        reader: jwtAuthenticator({ signingMethod: 'ES256', claimName: 'uid' }),
      },
      // POST /es256/login, with the `user` of the database
      login: {
        routeOptions: shownLogin,
        tokenFunc: (_request, user, jwtService) =>
          jwtService.generateTokenWithClaims(
            { sub: `user:${user.id}`, uid: user.id, scope: scopeFor(user.roles) },
            'ES256',
          ),
      },
    })

    app.get('/me', { config: { auth: { use: 'reader' } } }, (request) => ({
      user: request.user,
      scope: request.extra[EXTRA_JWT_CLAIMS]?.scope,
    }))

    // For tokens with that scope: who has another one gets a 403, which says what to ask for.
    const config = { auth: { use: 'reader', scope: 'notes:write' } } as const
    app.post('/notes', { config, schema: { body } }, async (request, reply) => {
      const id = await notes.create(request.user.id, request.body)
      void reply.code(201).header('location', `/notes/${id}`)
      return { id, owner: request.user.name, ...request.body }
    })
  }
}
