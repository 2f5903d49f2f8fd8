import { oauth2Entry, emailOf, textOf } from './entry.js'

/**
 * An entry of `loginWith` for X. `sub` is the id of the user. The confirmed address needs the setting "Request email from users"
 * of the app there. @function
 */
// docs.x.com/fundamentals/authentication/oauth-2-0/user-access-token (Basic, PKCE) and the field `confirmed_email` of
// docs.x.com/x-api/users/get-my-user, read in November 2026.
export const x = oauth2Entry({
  issuer: 'https://x.com',
  clientAuth: 'basic',
  authorizationEndpoint: 'https://x.com/i/oauth2/authorize',
  tokenEndpoint: 'https://api.x.com/2/oauth2/token',
  scope: 'users.read tweet.read users.email',
  async profile(get) {
    const address = 'https://api.x.com/2/users/me?user.fields=confirmed_email'
    const { data: me } = await get<{ data?: Record<string, unknown> | null }>(address)
    const names = { name: textOf(me?.name), preferred_username: textOf(me?.username) }
    return { sub: me?.id, ...names, ...emailOf(me?.confirmed_email, true) }
  },
})
