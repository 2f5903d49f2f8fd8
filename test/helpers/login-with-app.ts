import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { authn } from '../../lib/index.js'
import { redisSessions } from '../../lib/sessions/index.js'
import { secret, userService } from './app.js'
import { nameOf } from './flows.js'
import { clientSecret } from './openid-provider.js'
import { serve } from './processes.js'

/**
 * A process of a shop whose sessions are in Redis: started by login-with/processes.test.ts, which it tells its port.
 * It ends with its parent.
 */
async function main(): Promise<void> {
  const { TEST_ISSUER: issuer = '', TEST_REDIS_PORT = '' } = process.env
  const redis = new Redis(Number(TEST_REDIS_PORT), '127.0.0.1')
  redis.on('error', () => undefined)
  const app = Fastify({ forceCloseConnections: true })
  const username = ({ sub }: { sub: string }): string => sub
  await app.register(authn, {
    userService: userService(),
    jwt: { secret },
    cookies: true,
    sessions: { store: redisSessions(redis, { prefix: 'shop' }) },
    loginWith: { corp: { issuer, clientId: 'shop', clientSecret, username, link: () => true } },
  })
  app.get('/me', { config: { auth: true } }, (request) => ({ name: nameOf(request) }))
  await serve(app)
}

void main()
