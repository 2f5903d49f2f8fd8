import { entry, strictly } from './entry.js'
import type { Entry, OpenIdEntry } from '../../types/providers.js'

/**
 * An entry of `loginWith` for Google. `email_verified` is that of the ID token; it is about the time at which the address
 * was entered, unless it ends in `@gmail.com` or the claim `hd` is there.
 */
// developers.google.com/identity/openid-connect/openid-connect, read in November 2026.
export function google<Given extends OpenIdEntry>(given: Given): Entry<Given> {
  return entry({ issuer: 'https://accounts.google.com', claims: strictly }, given)
}
