import { entry, emailOf } from './entry.js'
import type { Entry, OAuth2Entry } from '../../types/providers.js'

interface Me {
  readonly data?: Readonly<Record<string, unknown>> | null
}

/**
 * An entry of `loginWith` for X. `sub` is the id of the user. The confirmed address needs the setting "Request email from users"
 * of the app there.
 */
// docs.x.com/fundamentals/authentication/oauth-2-0/user-access-token (Basic, PKCE) and the field `confirmed_email` of
// docs.x.com/x-api/users/get-my-user, read in November 2026.
export function x<Given extends OAuth2Entry>({
  scope = 'users.read tweet.read users.email',
  ...given
}: Given): Entry<Given, 'scope'> {
  return entry(
    {
      issuer: 'https://x.com',
      clientAuth: 'basic',
      oauth2: {
        authorizationEndpoint: 'https://x.com/i/oauth2/authorize',
        tokenEndpoint: 'https://api.x.com/2/oauth2/token',
        scope,
        async profile(get) {
          const { data } = await get<Me>('https://api.x.com/2/users/me?user.fields=confirmed_email')
          const { id: sub, name, username, confirmed_email: email } = data ?? {}
          return { sub, name, preferred_username: username, ...emailOf(email, true) }
        },
      },
    },
    given,
  )
}
