import { oauth2Entry, emailOf, textOf } from './entry.js'

/**
 * An entry of `loginWith` for Spotify. `sub` is the id of the user. `email_verified` is always false: Spotify says that there
 * is no proof that the address belongs to the user. @function
 */
// developer.spotify.com/documentation/web-api: "Authorization Code with PKCE Flow", "Get Current User's Profile", "Redirect URIs",
// read in November 2026.
export const spotify = oauth2Entry({
  issuer: 'https://accounts.spotify.com',
  clientAuth: 'basic',
  authorizationEndpoint: 'https://accounts.spotify.com/authorize',
  tokenEndpoint: 'https://accounts.spotify.com/api/token',
  scope: 'user-read-email',
  async profile(get) {
    const { id: sub, display_name: name, email } = await get('https://api.spotify.com/v1/me')
    return { sub, name: textOf(name), ...emailOf(email, false) }
  },
})
