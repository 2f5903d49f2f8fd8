// Rate limits: by user or API key where the request is authenticated, by address elsewhere, and a narrow one for logins.
import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { authn, hashPassword, type UserService } from 'fastify-authn'
import { memoryApiKeys } from 'fastify-authn/api-keys'
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
const byAddress = ({ ip }: FastifyRequest): string => `address ${normalizeIP(ip)}`

/** Three kinds of counters, whose names cannot be equal. */
function byCaller(request: FastifyRequest): string {
  const { apiKey } = request.extra
  if (apiKey) return `key ${apiKey.id}`
  return request.user === null ? byAddress(request) : `user ${request.user.id}`
}

export async function buildApp(userService: UserService): Promise<FastifyInstance> {
  const app = Fastify()
  // Before the plugin, so that it also limits the login route. Its hooks belong to the routes, so they run after the
  // plugin has found the user. Requests that the plugin rejects are not counted here: wrong passwords have its throttle.
  await app.register(rateLimit, { max: 3, timeWindow: '1 minute', keyGenerator: byCaller })
  await app.register(authn, {
    userService,
    jwt: { secret: process.env.AUTH_JWT_SECRET },
    apiKeys: { prefix: 'acme', store: memoryApiKeys() },
    login: {
      routeOptions: {
        // Right passwords count too.
        config: { rateLimit: { max: 5, timeWindow: '1 minute', keyGenerator: byAddress } },
      },
    },
  })

  app.get('/me', { config: { auth: true } }, (request) => request.user)
  const reports = { use: ['jwt', 'apiKey'], scope: 'reports:read' } as const
  app.get('/reports', { config: { auth: reports } }, () => ({ reports: 'none' }))
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
