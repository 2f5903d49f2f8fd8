import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { withTimeout } from '../common/timeout.js'
import { strangerKey } from './forge.js'

/** How long a response may take, in milliseconds. */
export const patience = 10_000

/** A server of our own in front of an app; the server of the app itself is not used. */
export interface Wire {
  readonly port: number
  /** A URL that serves keys, and that no app must ask. */
  readonly keysUrl: string
  /** How often it was asked. */
  fetched(): number
  close(): Promise<void>
}

export async function openWire(routing: (request: never, reply: never) => void): Promise<Wire> {
  const path = '/fastify-authn-testing/keys.json'
  let fetched = 0
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.url !== path) return routing(request as never, response as never)
    fetched += 1
    response.end(
      JSON.stringify({ keys: [strangerKey('RS256').publicKey.export({ format: 'jwk' })] }),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    keysUrl: `http://127.0.0.1:${port}${path}`,
    fetched: () => fetched,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The response to raw bytes: a status, `closed` for a closed connection, null for nothing in time. */
export type WireStatus = number | 'closed' | null

/** Sends the head of a request, and reads the status of the first response. */
export function statusOf(port: number, head: string, wait = patience): Promise<WireStatus> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    let text = ''
    const finish = (status: WireStatus): void => {
      resolve(status)
      socket.destroy()
    }
    socket.setTimeout(wait, () => finish(null))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1]
      if (status !== undefined) finish(Number(status))
    })
    // A server that refuses may reset the connection while we still write.
    socket.on('error', () => undefined)
    socket.on('close', () => finish('closed'))
    socket.on('connect', () => socket.write(Buffer.from(head, 'latin1')))
  })
}

/** The status of a response; null when none comes in time. */
export async function statusWithin(
  answer: PromiseLike<{ readonly statusCode: number }>,
  wait: number,
): Promise<number | null> {
  const late = new Error(`no answer in ${wait} ms`)
  try {
    return (await withTimeout(answer, wait, () => late)).statusCode
  } catch (error) {
    if (error === late) return null
    throw error
  }
}
