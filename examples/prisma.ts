// Users that Prisma keeps. Tokens are for people who are known already, so the password column is read
// only where a password is checked.
import Fastify, { type FastifyInstance } from 'fastify'
import { authn, hashPassword, jwtAuthenticator, type UserService } from 'fastify-authn'
import { createPrismaClient, type PrismaClient } from './support/prisma-client.js'
import { bearer, isProgram, loginTip, start } from './support/start.js'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    username: string
  }
  interface StoredUser {
    password: string
  }
}

const profile = { id: true, username: true } as const

/** For tokens: without the password. */
function profiles(prisma: PrismaClient) {
  return {
    async findByUsername(username: string | number) {
      // Always findUnique: findFirst takes an undefined value for no condition, and returns the first user
      // of the table. The plugin never asks with one, but the next person to call this might.
      if (typeof username !== 'string') return null
      return prisma.user.findUnique({ where: { username }, select: profile })
    },
  }
}

/** For logins: with the password, which is checked and then left behind. */
export function accounts(prisma: PrismaClient): UserService {
  return {
    async findByUsername(username) {
      if (typeof username !== 'string') return null
      return prisma.user.findUnique({
        where: { username },
        select: { ...profile, password: true },
      })
    },
    async updatePasswordHash({ id }, password, previous) {
      // Changes nothing when the password has been changed meanwhile.
      await prisma.user.updateMany({ where: { id, password: previous }, data: { password } })
    },
  }
}

export async function buildApp(prisma: PrismaClient): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(authn, {
    userService: accounts(prisma),
    authenticator: jwtAuthenticator({ userService: profiles(prisma) }),
    jwt: { secret: process.env.AUTH_JWT_SECRET },
  })

  app.get('/me', { config: { auth: true } }, (request) => request.user)
  return app
}

if (isProgram(import.meta.url)) {
  const password = await hashPassword('wonderland-1865')
  const prisma = createPrismaClient([{ id: 1, username: 'alice', password }])
  await start(
    await buildApp(prisma),
    loginTip('alice', 'wonderland-1865'),
    `curl -i $URL/me ${bearer}`,
  )
}
