import bcrypt from 'bcrypt'
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { authn } from '../../lib/index.js'
import { logLines, secret, userService } from './app.js'
import { serve } from './processes.js'

/**
 * A process of an app that shares its counters through Redis: started by throttle/redis.test.ts, which it
 * tells its port, and at every request what it has logged so far. It ends when its parent lets go of it.
 */
async function main(): Promise<void> {
  const redis = new Redis(Number(process.env.TEST_REDIS_PORT), '127.0.0.1', {
    retryStrategy: () => 50,
  })
  redis.on('error', () => undefined)
  const { lines, stream } = logLines()
  const app = Fastify({ logger: { level: 'warn', stream }, forceCloseConnections: true })
  const people = ['alice', 'bob', 'carol', 'dave'].map((name, id) => ({
    id,
    name,
    password: bcrypt.hashSync(`password of ${name}`, 4),
  }))
  await app.register(authn, {
    userService: userService(people),
    jwt: { secret },
    hashing: { cost: 4 },
    credentialCache: false,
    throttle: { redis, keyPrefix: 'test' },
  })
  app.get('/', { config: { auth: { use: 'basic' } } }, () => 'ok')
  app.get('/lines', () => lines)
  app.get('/redis', () => redis.status)
  await serve(app, () => {
    redis.disconnect()
    void app.close()
  })
}

void main()
