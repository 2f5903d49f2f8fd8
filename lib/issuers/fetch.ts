import { metadataAddress, secureAddress } from '../http/address.js'
import { fetchJson, FetchError, fetchMetadata } from '../http/fetch.js'
import type { ResolvedIssuer } from './options.js'

/** Gets the key set from the address in the options or in the metadata. @throws FetchError, or an error of `fetch()` */
export async function fetchKeySet(
  { issuer, jwksUri }: Pick<ResolvedIssuer, 'issuer' | 'jwksUri'>,
  signal: AbortSignal,
): Promise<unknown> {
  const url = jwksUri === undefined ? await discover(issuer, signal) : secureAddress(jwksUri)
  if (url === null) throw new FetchError('jwks_uri is not an https address')
  return await fetchJson(url, signal)
}

async function discover(issuer: string, signal: AbortSignal): Promise<URL | null> {
  const { jwks_uri: address } = await fetchMetadata(issuer, signal)
  if (typeof address !== 'string') throw new FetchError('the metadata names no jwks_uri')
  return metadataAddress(issuer, address)
}
