// An app that uses @fastify/jwt too. Its declarations type request.user as well, and of two that differ
// TypeScript takes the one that it meets first: fastify-authn is imported first, in the first file.
import authn, { type AuthnOptions, type AuthUser } from 'fastify-authn'
import fastifyJwt from '@fastify/jwt'
import Fastify from 'fastify'
import { exactly } from '../exactly.js'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
  }
}

const app = Fastify()
app.register(authn, { jwt: { secret: 'secret' } })
app.register(fastifyJwt, { secret: 'secret', decoratorName: 'jwtUser' })

app.get('/', { config: { auth: true } }, async (request) => {
  exactly<AuthUser>()(request.user)
  await request.jwtVerify()
  return app.jwt.sign({ id: request.user.id })
})
app.get('/open', (request) => {
  exactly<AuthUser | null>()(request.user)
  // @ts-expect-error -- the request may be anonymous
  return request.user.id
})

// The default of passwordField fits, whatever the app says of its users.
export const options: AuthnOptions = { passwordField: 'password' }
