// Follows both parts of the tutorial, with a PostgreSQL in this process where the second part has a server.
import t from 'tap'
import { startPostgres } from '../../examples/support/embedded-postgres.js'
import { unlessFound } from '../helpers/programs.js'
import { follow } from '../helpers/tutorial.js'

t.test('a web app with login', { skip: unlessFound('curl') }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.close())
  const ports = { 5432: Number(new URL(server.connectionString).port) }
  await follow(t, ['docs/start/web-app.md', 'docs/start/web-app-deploy.md'], { ports })
})
