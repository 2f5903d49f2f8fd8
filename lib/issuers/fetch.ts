import http from 'node:http'
import https from 'node:https'
import { limits } from './limits.js'

/** Why a fetch failed. The message says nothing that the issuer has sent but its status. */
export class FetchError extends Error {
  /** The status of the response, where it was the status that was wrong. */
  readonly status: number | undefined

  constructor(reason: string, status?: number) {
    super(reason)
    this.status = status
  }
}

/**
 * Gets a JSON document. It uses `node:http` and not `fetch()`, which would follow redirects unless told otherwise, and
 * would decompress a body of a few bytes into gigabytes. `node:http` does neither.
 *
 * @param signal - ends it, also while the body arrives
 * @throws FetchError
 */
export async function fetchJson(url: URL, signal: AbortSignal): Promise<unknown> {
  const body = await download(url, signal)
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    throw new FetchError('the body is not JSON')
  }
}

function download(url: URL, signal: AbortSignal): Promise<Buffer> {
  const { get } = url.protocol === 'https:' ? https : http
  const headers = { accept: 'application/json', 'accept-encoding': 'identity' }
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      reject(failureOf(error))
      request.destroy()
    }
    const request = get(url, { signal, headers, insecureHTTPParser: false }, (response) => {
      response.on('error', fail)
      read(response).then(resolve, fail)
    })
    request.on('error', fail)
    // Without a listener, Node.js closes such a connection and says nothing, so that we would wait for ever.
    request.on('upgrade', (_response, socket) => {
      socket.destroy()
      fail(new FetchError('the protocol is another one'))
    })
    signal.addEventListener('abort', () => fail(signal.reason), { once: true })
  })
}

async function read(response: http.IncomingMessage): Promise<Buffer> {
  const { statusCode = 0, headers } = response
  if (statusCode !== 200)
    throw new FetchError(`the status is ${statusCode}, expected 200`, statusCode)
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') throw new FetchError('the body is encoded')
  if (Number(headers['content-length']) > limits.bodyBytes) throw tooLong()
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > limits.bodyBytes) throw tooLong()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLong(): FetchError {
  return new FetchError(`the body has more than ${limits.bodyBytes} bytes`)
}

/** Messages of Node.js may quote what a server has sent, such as the names of a certificate: the code is enough. */
function failureOf(error: unknown): FetchError {
  if (error instanceof FetchError) return error
  const { code, name } = error as { code?: unknown; name?: unknown }
  return new FetchError(`the connection failed (${String(typeof code === 'string' ? code : name)})`)
}

/** Why a fetch failed, for people. Only our own messages are shown: others may quote what the issuer has sent. */
export function reasonOf(error: unknown): string {
  return error instanceof FetchError ? error.message : 'something unexpected happened'
}
