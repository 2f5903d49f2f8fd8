import { entry, strictly } from './entry.js'
import type { Entry, OpenIdEntry } from '../../types/providers.js'

/** Twitch puts only these into an ID token that were asked for. */
const asked = { email: null, email_verified: null, picture: null, preferred_username: null }

/** An entry of `loginWith` for Twitch. `authorizationParams` of the app need the parameter `claims` of this entry too. */
// dev.twitch.tv/docs/authentication/getting-tokens-oidc, read in November 2026: client_secret_post alone, an array as scope.
export function twitch<Given extends OpenIdEntry>(given: Given): Entry<Given> {
  return entry(
    {
      issuer: 'https://id.twitch.tv/oauth2',
      clientAuth: 'post',
      scope: 'openid user:read:email',
      claims: strictly,
      authorizationParams: { claims: JSON.stringify({ id_token: asked }) },
    },
    given,
  )
}
