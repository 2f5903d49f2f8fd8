// program: its own, in npm run test:all
import t from 'tap'
import { identityRaces, pointPool } from '../helpers/identity-races.js'
import { postgresServer } from '../helpers/postgres-server.js'
import { unlessFound } from '../helpers/programs.js'

const skip = unlessFound('PostgreSQL')

t.test(
  'the functions of the documentation, in PostgreSQL with many connections',
  { skip },
  async (t) => {
    const server = await postgresServer(t)
    pointPool(server.url)
    const identities = await import('../../examples/recipes/identities.js')
    t.teardown(() => identities.pool.end())
    await identities.pool.query(identities.schema)
    await identityRaces(t, identities)
  },
)
