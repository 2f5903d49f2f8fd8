import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'

/** Whether a module is the program that was started, and not one that a test imports. */
export function isProgram(moduleUrl: string): boolean {
  const [, started] = process.argv
  return started !== undefined && realpathSync(started) === fileURLToPath(moduleUrl)
}

/**
 * Listens on 127.0.0.1, on `PORT` or else 3000, until Ctrl-C.
 *
 * @param tips - lines of shell to paste, which find the address in `$URL` and, after a login, the token
 * in `$TOKEN`
 */
export async function start(app: FastifyInstance, ...tips: string[]): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      // Browsers keep connections open on which they ask nothing.
      app.server.closeAllConnections()
      void app.close().finally(() => process.exit())
    })
  }
  const port = Number(process.env.PORT || 3000)
  const address = await app.listen({ host: '127.0.0.1', port })
  const lines = [`URL=${address}`, ...tips].map((tip) => `  ${tip}`)
  console.log(`\nListens on ${address}. Paste into another terminal:\n\n${lines.join('\n')}\n`)
}

/** A line of shell that logs in and keeps the token. */
export function loginTip(username: string, password: string): string {
  const body = JSON.stringify({ username, password })
  return `TOKEN=$(curl -s $URL/login --json '${body}' | node -p 'JSON.parse(fs.readFileSync(0)).token')`
}

/** The option of curl that sends the token. */
export const bearer = '-H "Authorization: Bearer $TOKEN"'
