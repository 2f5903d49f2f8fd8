import { keyAddress } from '../http/key-address.js'
import { fetchJson, FetchError } from './fetch.js'
import type { ResolvedIssuer } from '../options/resolve-issuers.js'

/**
 * Gets the key set of an issuer, from the address that is configured or that its metadata names.
 *
 * @returns the document, not yet checked
 * @throws FetchError, or an error of `fetch()`
 */
export async function fetchKeySet(
  { issuer, jwksUri }: Pick<ResolvedIssuer, 'issuer' | 'jwksUri'>,
  signal: AbortSignal,
): Promise<unknown> {
  const url = keyAddress(jwksUri ?? (await discover(issuer, signal)))
  if (url === null) throw new FetchError('jwks_uri is no address with https')
  return await fetchJson(url, signal)
}

/** The `jwks_uri` of an issuer's metadata. */
async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const metadata = await fetchMetadata(issuer, signal)
  if (typeof metadata !== 'object' || metadata === null) {
    throw new FetchError('the metadata is no object')
  }
  const { issuer: found, jwks_uri: address } = metadata as Record<string, unknown>
  // OpenID Connect Discovery §4.3 and RFC 8414 §3.3: otherwise one issuer could speak for another one.
  if (found !== issuer) throw new FetchError('the metadata is that of another issuer')
  if (typeof address !== 'string') throw new FetchError('the metadata names no jwks_uri')
  return address
}

/** OpenID Connect Discovery §4 appends the well-known part to the path, RFC 8414 §3.1 puts it before the path. */
async function fetchMetadata(issuer: string, signal: AbortSignal): Promise<unknown> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  try {
    return await fetchJson(new URL(`${origin}${path}/.well-known/openid-configuration`), signal)
  } catch (error) {
    if (!(error instanceof FetchError) || error.status !== 404) throw error
    const oauth = `${origin}/.well-known/oauth-authorization-server${path}`
    return await fetchJson(new URL(oauth), signal)
  }
}
