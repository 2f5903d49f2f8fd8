// Where the order cannot be chosen, @fastify/jwt is told the type: request.user then has to be asked
// for null on every route, which is safe.
import fastifyJwt from '@fastify/jwt'
import authn, { type AuthUser } from 'fastify-authn'
import Fastify from 'fastify'
import { exactly } from '../exactly.js'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
  }
}

declare module '@fastify/jwt' {
  interface FastifyJWT {
    user: AuthUser | null
  }
}

const app = Fastify()
app.register(authn, { jwt: { secret: 'secret' } })
app.register(fastifyJwt, { secret: 'secret', decoratorName: 'jwtUser' })

app.get('/', { config: { auth: true } }, (request) => {
  exactly<AuthUser | null>()(request.user)
  return request.user?.id
})
app.get('/open', (request) => request.user?.id)
