import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { authn, type AccountMail, type AuthnOptions } from '../../lib/index.js'
import { redisSessions, sqlSessions } from '../../lib/sessions/index.js'
import { sqlAccounts } from './accounts.js'
import { cost, secret } from './app.js'
import { serve } from './processes.js'

/**
 * A process of a shop whose users are in PostgreSQL, whose counters are in Redis, and whose sessions are in one of them:
 * started by tests, which it tells its port. It ends with its parent.
 */
async function main(): Promise<void> {
  const { TEST_REDIS_PORT = '', TEST_DATABASE = '', TEST_SESSIONS } = process.env
  const redis = new Redis(Number(TEST_REDIS_PORT), '127.0.0.1', { retryStrategy: () => 50 })
  redis.on('error', () => undefined)
  const pool = new Pool({ connectionString: TEST_DATABASE })
  const { findByUsername, ...functions } = sqlAccounts((text, values) => pool.query(text, values))
  const query = (text: string, params: (string | number | null)[]) => pool.query(text, params)
  const store =
    TEST_SESSIONS === 'sql'
      ? sqlSessions({ query, prefix: 'shop' })
      : redisSessions(redis, { prefix: 'shop' })
  const sent: AccountMail[] = []
  const app = Fastify({ forceCloseConnections: true })
  await app.register(authn, {
    userService: { findByUsername },
    jwt: { secret },
    hashing: { cost, maxQueue: 100 },
    login: { usernameField: 'email', subject: (user: object) => (user as { id: number }).id },
    sessions: { store },
    throttle: { redis, keyPrefix: 'shop' },
    errorBody: ({ code }) => ({ code }),
    accounts: {
      url: 'https://shop.example/account',
      ...functions,
      sendMail: (mail) => void sent.push(mail),
    },
    mailLogin: { signUp: true },
  } as AuthnOptions)
  app.get('/me', { config: { auth: true } }, () => 'in')
  app.post<{ Body: { id: number } }>('/begin', (request, reply) =>
    app.authn.sessions.begin(request.body.id, request, reply),
  )
  app.get('/mails', async () => {
    await app.authn.accounts.settled()
    return sent
  })
  app.get('/redis', () => redis.status)
  await serve(app)
}

void main()
