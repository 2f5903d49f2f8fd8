import { strictly, entry, baseUrlOf } from './entry.js'
import type { Entry, OpenIdEntry, OwnHost } from '../../types/providers.js'

/** An entry of `loginWith` for GitLab, or a GitLab of your own at `baseUrl`. `sub` is the id of the user there. */
// docs.gitlab.com/integration/openid_connect_provider, read in November 2026: all claims are in the ID token.
export function gitlab<Given extends OpenIdEntry & OwnHost>(all: Given): Entry<Given, 'baseUrl'> {
  const [issuer, given] = baseUrlOf('gitlab', all, 'https://gitlab.com')
  return entry({ issuer, claims: strictly }, given)
}
