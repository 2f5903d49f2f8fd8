import { secureAddress } from './address.js'

/** The error of a fetch. Its message quotes nothing that the server has sent but the status. */
export class FetchError extends Error {
  constructor(
    reason: string,
    readonly status?: number,
  ) {
    super(reason)
  }
}

export type Fetch = (url: URL, init: RequestInit) => Promise<Response>

const bodyBytes = 256 * 1024

/** Redirects are not followed, since they could lead into our network: `init` may have `manual` to get them. */
const send: Fetch = (url, init) => fetch(url, { redirect: 'error', ...init })

/** The codes of `fetch()` for a connection that was closed. */
const closed = new Set<unknown>(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/**
 * Sends a request that asks for no compression. It is sent again, once, if the connection was closed without an answer: a
 * server closes unused ones at any time. @param by - Default: `fetch()` @param mayRepeat - whether a server may get it twice
 */
export async function request(url: URL, init: RequestInit, by = send, mayRepeat = true) {
  const headers = new Headers(init.headers)
  headers.set('accept-encoding', 'identity')
  return by(url, { ...init, headers }).catch((error: unknown) => {
    if (!mayRepeat || !closed.has(codeOf(error))) throw error
    return by(url, { ...init, headers })
  })
}

const codeOf = (error: unknown): unknown => (error as { cause?: { code?: unknown } }).cause?.code

/** The signal also aborts a body that is still arriving. @throws FetchError, or an error of `fetch()` */
export async function fetchJson(url: URL, signal: AbortSignal, by = send): Promise<unknown> {
  const response = await request(url, { signal, headers: { accept: 'application/json' } }, by)
  return (await readJson(response)).json
}

/** JSON has to be UTF-8 (RFC 8259 §8.1); other bytes would be replaced, and two names could become one. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @param most - bytes of the longest body @throws FetchError, also for any status but 200 */
export async function readJson(
  response: Response,
  most = bodyBytes,
): Promise<{ readonly json: unknown; readonly bytes: number }> {
  const { status } = response
  if (status !== 200) throw new FetchError(`the status is ${status}, expected 200`, status)
  const body = await readBody(response, most)
  try {
    return { json: JSON.parse(utf8.decode(body)) as unknown, bytes: body.length }
  } catch {
    throw new FetchError('the body is not JSON')
  }
}

/** Limits the decompressed bytes, since a server may compress a body against our request. @throws FetchError */
export async function readBody({ body }: Response, most = bodyBytes): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > most) throw new FetchError(`the body has more than ${most} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The content of a response that is sent as JSON; undefined for another one, or for what is no JSON. */
export function jsonBodyOf({ headers }: Response, body: Buffer): unknown {
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(headers.get('content-type') ?? ''))
    return undefined
  try {
    return JSON.parse(body.toString()) as unknown
  } catch {
    return undefined
  }
}

/** The reason for the log. Other messages may quote what the server has sent, so only their code is used. */
export function reasonOf(error: unknown): string {
  if (error instanceof FetchError) return error.message
  const code = codeOf(error)
  return typeof code === 'string'
    ? `the connection failed (${code})`
    : 'the connection failed, or the address redirects'
}

export async function fetchMetadata(
  issuer: string,
  signal: AbortSignal,
  by = send,
): Promise<Readonly<Record<string, unknown>>> {
  const { origin, pathname } = secureAddress(issuer) as URL
  const path = pathname.replace(/\/$/, '')
  // OpenID Connect Discovery §4 appends the well-known part to the path, RFC 8414 §3.1 puts it before the path.
  const openid = new URL(`${origin}${path}/.well-known/openid-configuration`)
  const oauth = new URL(`${origin}/.well-known/oauth-authorization-server${path}`)
  const metadata = await fetchJson(openid, signal, by).catch((error: unknown) => {
    if (error instanceof FetchError && error.status === 404) return fetchJson(oauth, signal, by)
    throw error
  })
  if (typeof metadata !== 'object' || metadata === null) {
    throw new FetchError('the metadata is not an object')
  }
  // Otherwise one issuer could name keys for another (OpenID Connect Discovery §4.3, RFC 8414 §3.3).
  if ((metadata as { issuer?: unknown }).issuer !== issuer) {
    throw new FetchError('the metadata belongs to another issuer')
  }
  return metadata as Record<string, unknown>
}
