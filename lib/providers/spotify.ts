import { entry, emailOf } from './entry.js'
import type { Entry, OAuth2Entry } from '../../types/providers.js'

/**
 * An entry of `loginWith` for Spotify. `sub` is the id of the user. `email_verified` is always false: Spotify says that there
 * is no proof that the address belongs to the user.
 */
// developer.spotify.com/documentation/web-api: "Authorization Code with PKCE Flow", "Get Current User's Profile", "Redirect URIs",
// read in November 2026.
export function spotify<Given extends OAuth2Entry>({
  scope = 'user-read-email',
  ...given
}: Given): Entry<Given, 'scope'> {
  return entry(
    {
      issuer: 'https://accounts.spotify.com',
      clientAuth: 'basic',
      oauth2: {
        authorizationEndpoint: 'https://accounts.spotify.com/authorize',
        tokenEndpoint: 'https://accounts.spotify.com/api/token',
        scope,
        async profile(get) {
          const { id: sub, display_name: name, email } = await get('https://api.spotify.com/v1/me')
          return { sub, name, ...emailOf(email, false) }
        },
      },
    },
    given,
  )
}
