import { keyAddress } from '../http/key-address.js'
import { fetchJson, FetchError } from './fetch.js'
import type { ResolvedIssuer } from '../options/resolve-issuers.js'

/**
 * Gets the key set of an issuer, from the address that is configured or that its metadata names.
 *
 * @returns the document, not yet checked
 * @throws FetchError
 */
export async function fetchKeySet(
  { issuer, jwksUri }: Pick<ResolvedIssuer, 'issuer' | 'jwksUri'>,
  signal: AbortSignal,
): Promise<unknown> {
  const address = jwksUri ?? (await discover(issuer, signal))
  const url = keyAddress(address)
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
  // OpenID Connect Discovery §4.3 and RFC 8414 §3.3: else one issuer could speak for another one.
  if (found !== issuer) throw new FetchError('the metadata is that of another issuer')
  if (typeof address !== 'string') throw new FetchError('the metadata names no jwks_uri')
  return address
}

async function fetchMetadata(issuer: string, signal: AbortSignal): Promise<unknown> {
  const { openid, oauth } = metadataAddresses(issuer)
  try {
    return await fetchJson(openid, signal)
  } catch (error) {
    if ((error as FetchError).status !== 404) throw error
    return await fetchJson(oauth, signal)
  }
}

/**
 * Where the metadata of an issuer is: OpenID Connect Discovery §4 appends the well-known part to the path, RFC 8414 §3.1
 * puts it before the path.
 */
export function metadataAddresses(issuer: string): { openid: URL; oauth: URL } {
  const base = issuer.replace(/\/$/, '')
  const { origin, pathname } = new URL(issuer)
  return {
    openid: new URL(`${base}/.well-known/openid-configuration`),
    oauth: new URL(
      `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`,
    ),
  }
}
