import fp from 'fastify-plugin'
import { authn, hashPassword, type StoredUser } from 'fastify-authn'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    username: string
  }
  interface StoredUser {
    password: string
  }
}

// Wrapped, so that it is there for the routes too and not for this file alone.
export default fp(async (fastify) => {
  const password = await hashPassword('wonderland-1865')
  const alice: StoredUser = { id: 1, username: 'alice', password }
  await fastify.register(authn, {
    userService: { findByUsername: (username) => (username === 'alice' ? alice : null) },
    jwt: { secret: process.env.AUTH_JWT_SECRET },
  })
})
