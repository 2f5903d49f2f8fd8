import type { PrismaPg } from '@prisma/adapter-pg'
import Fastify from 'fastify'
import authn, { configFromEnv, jwtAuthenticator } from 'fastify-authn'
import { PrismaClient } from './generated/client.js'

/** Names are stored in lower case. */
const named = (name: string | number) => ({ name: String(name).toLowerCase() })

export async function createApp(adapter: PrismaPg) {
  const prisma = new PrismaClient({ adapter, omit: { member: { password: true } } })
  const app = Fastify()
  app.addHook('onClose', () => prisma.$disconnect())
  await app.register(authn, {
    ...configFromEnv(),
    // For logins: with the password hash.
    userService: {
      findByUsername: async (name) =>
        prisma.member.findUnique({ where: named(name), omit: { password: false } }),
      async updatePasswordHash({ id }, password, previous) {
        await prisma.member.updateMany({ where: { id, password: previous }, data: { password } })
      },
    },
    // For tokens: without it.
    authenticator: jwtAuthenticator({
      userService: {
        findByUsername: async (name) => prisma.member.findUnique({ where: named(name) }),
      },
    }),
    login: { subject: ({ name }) => name },
  })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  app.get('/desk', { config: { auth: { role: 'editor' } } }, () => 'the desk')
  return { app, prisma }
}
