// Tokens for people, Basic for machines: two authenticators with users of their own, chosen by the route.
import Fastify, { type FastifyInstance } from 'fastify'
import { authn, basicAuthenticator, hashPassword, type UserService } from 'fastify-authn'
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

/** In an app, two tables: a name in one means nothing in the other. */
export interface Directory {
  readonly people: UserService
  readonly machines: UserService
}

export async function buildApp({ people, machines }: Directory): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(authn, {
    // People log in at POST /login, and `jwt` finds them by their tokens. Machines cannot log in.
    userService: people,
    jwt: { secret: process.env.AUTH_JWT_SECRET },
    authenticators: {
      // In place of the built-in `basic`, which would take the passwords of people.
      basic: basicAuthenticator({ userService: machines }),
    },
    // Every route is protected: by `jwt`, which is the default, or by what `use` names.
    auth: true,
  })

  app.get('/me', { config: { auth: true } }, (request) => request.user)
  app.post('/readings', { config: { auth: { use: 'basic' } } }, (request, reply) =>
    reply.code(202).send({ from: request.user.username }),
  )
  // Either: the scheme of the header decides, and a 401 carries both challenges.
  app.get('/readings', { config: { auth: { use: ['jwt', 'basic'] } } }, (request) => ({
    reader: request.user.username,
  }))
  return app
}

/** Users that are in memory: name, password. */
export async function usersOf(...pairs: [string, string][]): Promise<UserService> {
  const users = new Map(
    await Promise.all(
      pairs.map(async ([username, password], index) => {
        const user = { id: index + 1, username, password: await hashPassword(password) }
        return [username, user] as const
      }),
    ),
  )
  return { findByUsername: (username) => users.get(String(username)) }
}

if (isProgram(import.meta.url)) {
  const people = await usersOf(['alice', 'wonderland-1865'])
  const machines = await usersOf(['sensor-7', 'a-long-random-text'])
  await start(
    await buildApp({ people, machines }),
    loginTip('alice', 'wonderland-1865'),
    `curl -i $URL/me ${bearer}`,
    'curl -i -X POST $URL/readings -u sensor-7:a-long-random-text',
    'curl -i $URL/readings -u sensor-7:a-long-random-text',
    `curl -i $URL/readings ${bearer}`,
    'curl -i $URL/readings',
  )
}
