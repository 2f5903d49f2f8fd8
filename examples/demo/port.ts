import { once } from 'node:events'
import { createServer } from 'node:net'
import { StartError } from './errors.js'

/** @throws StartError for a PORT that is no port */
export function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new StartError(`PORT is ${JSON.stringify(text)}, expected a number from 0 to 65535.`)
}

/**
 * Listens for a moment on the address that the demo is going to listen on, so that `npm start` can say
 * what is wrong with it before it builds anything.
 *
 * @throws what readPort throws, or the error of listening
 */
export async function tryPort(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const server = createServer()
  server.listen(readPort(env.PORT || '3000'), env.HOST || '127.0.0.1')
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}
