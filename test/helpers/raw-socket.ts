import { connect, type Socket } from 'node:net'

/** A response as it came over the wire. */
export interface RawResponse {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** All that a connection answered, until it was closed. */
export interface Answer {
  readonly responses: readonly RawResponse[]
  readonly statuses: readonly number[]
  /** The server neither answered in full nor closed. */
  readonly hung: boolean
}

/** So long may a connection be silent before it counts as hung, in milliseconds. Never reached. */
const patience = 15_000

type Part = string | Buffer

/**
 * Writes bytes to a port as they are, part by part, and collects what comes back until the server closes.
 *
 * @param end - whether to end our side after the last part: for bytes that leave the server waiting. Node then
 * gives up what it has not answered yet.
 */
export function exchange(port: number, parts: readonly Part[], end = false): Promise<Answer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let hung = false
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    socket.setTimeout(patience, () => {
      hung = true
      socket.destroy()
    })
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('end', () => socket.end())
    // A server that rejects a request may reset while we still write: what it has answered is what counts.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      const responses = parseResponses(Buffer.concat(chunks).toString('latin1'))
      resolve({ responses, statuses: responses.map(({ status }) => status), hung })
    })
    socket.on('connect', () => void writeAll(socket, parts, end))
  })
}

async function writeAll(socket: Socket, parts: readonly Part[], end: boolean): Promise<void> {
  for (const part of parts) {
    if (!socket.writable) return
    await new Promise((resolve) => {
      socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part, resolve)
    })
  }
  if (end) socket.end()
}

/**
 * Connects, writes, and is gone without a word.
 *
 * @param when - what to wait for before that
 */
export function vanish(port: number, part: Part, when?: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
    socket.on('connect', () => {
      const leave = (): void => void socket.resetAndDestroy()
      socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part, () => {
        if (when === undefined) leave()
        else void when.then(leave)
      })
    })
  })
}

/** HTTP/1.1 responses, one after the other; the length of a body is what its head says. */
function parseResponses(text: string): RawResponse[] {
  const responses: RawResponse[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(rest)?.[1]
    if (end === -1 || status === undefined) {
      throw new Error(`no HTTP response: ${JSON.stringify(rest.slice(0, 200))}`)
    }
    const head = rest.slice(0, end)
    const { body, size } = bodyOf(head, rest.slice(end + 4))
    responses.push({ status: Number(status), head, body })
    rest = rest.slice(end + 4 + size)
  }
  return responses
}

function bodyOf(head: string, rest: string): { body: string; size: number } {
  if (!/^transfer-encoding: *chunked/im.test(head)) {
    const size = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
    return { body: rest.slice(0, size), size }
  }
  let body = ''
  let at = 0
  for (;;) {
    const start = rest.indexOf('\r\n', at) + 2
    const length = Number.parseInt(rest.slice(at, start), 16)
    body += rest.slice(start, start + length)
    at = start + length + 2
    if (!(length > 0)) return { body, size: at }
  }
}

/** A request whose lines are written as they are. */
export function rawRequest(path: string, lines: readonly string[] = [], start = 'GET'): string {
  return [`${start} ${path} HTTP/1.1`, 'Host: test', ...lines, '', ''].join('\r\n')
}
