// What the tests share: users, the secret of their tokens, and a Bearer token for each.
import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { hashPassword, type UserService } from 'fastify-authn'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    name: string
  }
}

process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')

export const credentials = { username: 'alice', password: 'wonderland-1865' }
const password = await hashPassword(credentials.password, { cost: 4 })
const list = [
  { id: 1, name: 'alice', roles: ['editor'], password },
  { id: 2, name: 'bob', roles: [], password },
]

export const users = {
  findByUsername: (username) => list.find(({ name }) => name === username) ?? null,
} satisfies UserService

/** The headers of a request by a user. */
export function as(name: string, { jwtService }: Pick<FastifyInstance, 'jwtService'>) {
  return { authorization: `Bearer ${jwtService.generateToken(name)}` }
}
