import type { FastifyInstance } from 'fastify'
import type { Database } from '../database.js'

/** For the one name and password of the configuration (see app.ts), which is no user of the database. */
export function adminRoutes(database: Database) {
  return async (app: FastifyInstance) => {
    // Open, for load balancers, which have no password.
    app.get('/health', { config: { auth: false } }, async () => {
      await database.query('select 1')
      return { status: 'ok' }
    })

    app.get('/stats', async (request) => {
      const [counts] = await database.query<{ users: number; notes: number }>(
        `select (select count(*) from demo_users)::integer as users,
                (select count(*) from demo_notes)::integer as notes`,
      )
      // Under configBasic the user has a name, and nothing else.
      return { admin: request.user?.name, ...counts, authn: app.authn.stats() }
    })
  }
}
