import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { redisSessions } from '../../lib/sessions/index.js'
import { hash } from './accounts.js'
import { cost, secret } from './app.js'
import { serve } from './processes.js'

/**
 * A process of a shop whose sessions and counters are in Redis: started by login/processes.test.ts, which it tells its
 * port. It ends with its parent.
 */
async function main(): Promise<void> {
  const redis = new Redis(Number(process.env.TEST_REDIS_PORT), '127.0.0.1')
  redis.on('error', () => undefined)
  const app = Fastify({ forceCloseConnections: true })
  await app.register(authn, {
    userService: { findByUsername: (id: string | number) => ({ id: Number(id), password: hash }) },
    jwt: { secret },
    hashing: { cost },
    login: { subject: ({ id }: { id: number }) => id },
    sessions: { store: redisSessions(redis, { prefix: 'shop' }) },
    throttle: { redis, keyPrefix: 'shop' },
    errorBody: ({ code }: { code: string }) => ({ code }),
  } as unknown as AuthnOptions)
  app.get('/me', { config: { auth: true } }, () => 'in')
  app.post('/begin', (request, reply) => app.authn.sessions.begin(1, request, reply))
  await serve(app)
}

void main()
