import { keyAddress, type ResolvedIssuer } from './options.js'
import { limits } from './limits.js'

/** Why a fetch failed. Its message quotes nothing that the issuer has sent but the status. */
export class FetchError extends Error {
  /** @param status - of the response, where that was not 200 */
  constructor(
    reason: string,
    readonly status?: number,
  ) {
    super(reason)
  }
}

/**
 * Gets a JSON document. Redirects are not followed, since they could lead into our network.
 *
 * @param signal - aborts the request, also while the body arrives
 * @throws FetchError, or an error of `fetch()`
 */
async function fetchJson(url: URL, signal: AbortSignal): Promise<unknown> {
  const headers = { accept: 'application/json', 'accept-encoding': 'identity' }
  const response = await fetch(url, { signal, headers, redirect: 'error' })
  const { status } = response
  if (status !== 200) throw new FetchError(`the status is ${status}, expected 200`, status)
  const body = await read(response)
  try {
    return JSON.parse(body.toString()) as unknown
  } catch {
    throw new FetchError('the body is not JSON')
  }
}

/** Limits the decompressed bytes, since a server may compress a body against our request. */
async function read({ body }: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > limits.bodyBytes) {
      throw new FetchError(`the body has more than ${limits.bodyBytes} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The reason for the log. Other messages may quote what the server has sent, so only their code is used. */
export function reasonOf(error: unknown): string {
  if (error instanceof FetchError) return error.message
  const { cause } = error as { cause?: { code?: unknown } }
  return typeof cause?.code === 'string'
    ? `the connection failed (${cause.code})`
    : 'the connection failed, or the address redirects'
}

/** Gets the key set from the address in the options or in the metadata. @throws FetchError, or an error of `fetch()` */
export async function fetchKeySet(
  { issuer, jwksUri }: Pick<ResolvedIssuer, 'issuer' | 'jwksUri'>,
  signal: AbortSignal,
): Promise<unknown> {
  const url = keyAddress(jwksUri ?? (await discover(issuer, signal)))
  // Metadata of an https issuer may not lead to keys of whoever listens on this machine.
  const isWeaker = jwksUri === undefined && issuer.startsWith('https:') && url?.protocol === 'http:'
  if (url === null || isWeaker) throw new FetchError('jwks_uri is not an https address')
  return await fetchJson(url, signal)
}

/** The `jwks_uri` of an issuer's metadata. */
async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  // OpenID Connect Discovery §4 appends the well-known part to the path, RFC 8414 §3.1 puts it before the path.
  const openid = new URL(`${origin}${path}/.well-known/openid-configuration`)
  const oauth = new URL(`${origin}/.well-known/oauth-authorization-server${path}`)
  const metadata = await fetchJson(openid, signal).catch((error: unknown) => {
    if (error instanceof FetchError && error.status === 404) return fetchJson(oauth, signal)
    throw error
  })
  if (typeof metadata !== 'object' || metadata === null) {
    throw new FetchError('the metadata is not an object')
  }
  const { issuer: found, jwks_uri: address } = metadata as Record<string, unknown>
  // Otherwise one issuer could name keys for another (OpenID Connect Discovery §4.3, RFC 8414 §3.3).
  if (found !== issuer) throw new FetchError('the metadata belongs to another issuer')
  if (typeof address !== 'string') throw new FetchError('the metadata names no jwks_uri')
  return address
}
