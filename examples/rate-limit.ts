// Rate limits: by user where the request is authenticated, by address elsewhere, and a narrow one for logins.
import rateLimit from '@fastify/rate-limit'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { authn, hashPassword, type UserService } from 'fastify-authn'
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

/** Behind a proxy, set `trustProxy`: otherwise all clients have the address of the proxy. */
const byAddress = (request: FastifyRequest): string => `address ${request.ip}`

/** Two kinds of key that cannot meet: a user's name is the user's choice. */
const byUser = (request: FastifyRequest): string =>
  request.user === null ? byAddress(request) : `user ${request.user.id}`

export async function buildApp(userService: UserService): Promise<FastifyInstance> {
  const app = Fastify()
  // Before the plugin, so that it also limits the login route.
  await app.register(rateLimit, {
    max: 3,
    timeWindow: '1 minute',
    keyGenerator: byUser,
    // After onRequest, in which the plugin has found the user. Requests that it rejects are not counted here: wrong
    // passwords have the plugin's own throttle.
    hook: 'preHandler',
  })
  await app.register(authn, {
    userService,
    jwt: { secret: process.env.AUTH_JWT_SECRET },
    login: {
      routeOptions: {
        config: {
          // Right passwords count too. Before the body is read, since no user is known there anyway.
          rateLimit: { max: 5, timeWindow: '1 minute', keyGenerator: byAddress, hook: 'onRequest' },
        },
      },
    },
  })

  app.get('/me', { config: { auth: true } }, (request) => request.user)
  app.get('/news', { config: { auth: 'optional' } }, () => ({ news: 'none' }))
  app.get('/health', { config: { rateLimit: false } }, () => ({ status: 'ok' }))
  return app
}

if (isProgram(import.meta.url)) {
  const alice = { id: 1, username: 'alice', password: await hashPassword('wonderland-1865') }
  await start(
    await buildApp({ findByUsername: (username) => (username === 'alice' ? alice : null) }),
    loginTip('alice', 'wonderland-1865'),
    `for i in 1 2 3 4; do curl -i $URL/me ${bearer}; done`,
  )
}
