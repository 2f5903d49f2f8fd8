import type { FastifyInstance } from 'fastify'
import { authn, hashPassword, type StoredUser } from 'fastify-authn'
import fp from 'fastify-plugin'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    username: string
  }
  interface StoredUser {
    password: string
  }
}

// Wrapped, so that it is there for the whole app and not for this file alone.
export default fp(
  async (app: FastifyInstance) => {
    const password = await hashPassword('wonderland-1865')
    const alice: StoredUser = { id: 1, username: 'alice', password }
    await app.register(authn, {
      userService: { findByUsername: (username) => (username === 'alice' ? alice : null) },
      jwt: { secret: process.env.AUTH_JWT_SECRET },
      basic: { username: 'admin', password: process.env.AUTH_BASIC_PASSWORD },
      // A new file is closed until it says otherwise.
      auth: true,
    })
  },
  { name: 'authn' },
)
