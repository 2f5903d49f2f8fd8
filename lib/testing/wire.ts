import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { strangerKey } from './forge.js'

/** How long an answer may take, in milliseconds. */
export const patience = 10_000

/** An app behind a server of its own, which only we know of: the one of the app stays as it is. */
export interface Wire {
  readonly port: number
  /** A URL with keys that no app should ask for. */
  readonly keysUrl: string
  /** How often they were asked for. */
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

/** What bytes were answered with: a status, nothing but the end, or nothing at all in time. */
export type WireStatus = number | 'closed' | null

/** Writes the head of a request, and reads the status of the first response. */
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
    // A server that refuses may reset while we still write.
    socket.on('error', () => undefined)
    socket.on('close', () => finish('closed'))
    socket.on('connect', () => socket.write(Buffer.from(head, 'latin1')))
  })
}

/** The status of an answer; null when there is none in time. */
export async function within(
  answer: PromiseLike<{ readonly statusCode: number }>,
  wait: number,
): Promise<number | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, wait, null)
  })
  try {
    return (await Promise.race([answer, late]))?.statusCode ?? null
  } finally {
    clearTimeout(timer)
  }
}
