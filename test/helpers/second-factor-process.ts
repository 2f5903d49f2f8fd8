import Fastify from 'fastify'
import { Pool } from 'pg'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { sqlSessions } from '../../lib/sessions/index.js'
import { cost, secret } from './app.js'
import { sqlFactors } from './second-factor.js'
import { serve } from './processes.js'

/**
 * A process of a shop whose users and sessions are in PostgreSQL: started by second-factor/processes.test.ts, which it
 * tells its port. It ends with its parent.
 */
async function main(): Promise<void> {
  const { TEST_DATABASE = '', TEST_KEYS = '' } = process.env
  const pool = new Pool({ connectionString: TEST_DATABASE })
  const query = (text: string, values: unknown[]) => pool.query(text, values)
  const { findByUsername, update } = sqlFactors(query)
  const app = Fastify({ forceCloseConnections: true })
  await app.register(authn, {
    userService: { findByUsername },
    jwt: { secret },
    hashing: { cost, maxQueue: 100 },
    login: { usernameField: 'email', subject: (user: object) => (user as { id: number }).id },
    sessions: { store: sqlSessions({ query, prefix: 'shop' }) },
    throttle: false,
    errorBody: ({ code }: { code: string }) => ({ code }),
    secondFactor: { key: TEST_KEYS.split(' '), issuer: 'Shop', update },
  } as unknown as AuthnOptions)
  app.post('/everywhere', async () => ({ revoked: await app.authn.sessions.revoke({ sub: 1 }) }))
  await serve(app)
}

void main()
