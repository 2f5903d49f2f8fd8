import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.js'
import { banner } from './banner.js'
import { readSettings } from './config.js'
import { openDatabase } from './database.js'
import { explain } from './errors.js'

/** How long requests may go on after Ctrl-C, and when to give up. Milliseconds. */
const grace = 2000
const longestClose = 10_000

try {
  const settings = readSettings()
  const app = await buildApp(settings, await openDatabase(settings))
  closeOnSignals(app)
  const address = await app.listen({ host: settings.host, port: settings.port })
  console.log(banner(address, settings))
} catch (error) {
  console.error(`\nThe demo cannot start. ${explain(error)}\n`)
  process.exit(1)
}

/** Ctrl-C: requests under way are answered, then the database is closed. */
function closeOnSignals(app: FastifyInstance): void {
  let closing = false
  const close = (): void => {
    // npm passes on the signal that the terminal has already sent to all processes.
    if (closing) return
    closing = true
    // Browsers hold connections open on which they have asked nothing yet.
    setTimeout(() => app.server.closeAllConnections(), grace).unref()
    setTimeout(() => process.exit(1), longestClose).unref()
    app.close().then(
      () => {
        console.log('\nClosed.')
        process.exit(0)
      },
      (error: unknown) => {
        console.error(explain(error))
        process.exit(1)
      },
    )
  }
  process.on('SIGINT', close)
  process.on('SIGTERM', close)
}
