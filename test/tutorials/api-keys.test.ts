// Follows both parts of the tutorial, with a PostgreSQL in this process where the deployed app has a server.
import t from 'tap'
import { startPostgres } from '../../examples/support/embedded-postgres.js'
import { unlessFound } from '../helpers/programs.js'
import { follow } from '../helpers/tutorial.js'

t.test(
  'following docs/start/api-keys.md gives an app that answers as the page says',
  { skip: unlessFound('curl') },
  async (t) => {
    const server = await startPostgres()
    t.teardown(() => server.close())
    const ports = { 5432: Number(new URL(server.connectionString).port) }
    await follow(t, ['docs/start/api-keys.md', 'docs/start/api-keys-deploy.md'], { ports })
  },
)
