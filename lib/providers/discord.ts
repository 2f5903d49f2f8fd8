import { textOf } from './entry.js'
import type { Entry, OAuth2Entry } from '../../types/providers.js'
import type { GetJson } from '../../types/login-with.js'

/** An entry of `loginWith` for Discord. `sub` is the id of the user. */
// docs.discord.com: "OAuth2" and "User Object" (`verified`: whether the e-mail is verified), and
// discord.com/.well-known/oauth-authorization-server (Basic or post, PKCE with S256, `iss`), read in November 2026.
export function discord<Given extends OAuth2Entry>({
  scope = 'identify email',
  ...given
}: Given): Entry<Given, 'scope'> {
  return {
    issuer: 'https://discord.com',
    oauth2: {
      authorizationEndpoint: 'https://discord.com/oauth2/authorize',
      tokenEndpoint: 'https://discord.com/api/oauth2/token',
      scope,
      async profile(get: GetJson) {
        const me = await get('https://discord.com/api/users/@me')
        const email = textOf(me.email)
        return {
          sub: me.id,
          name: textOf(me.global_name) ?? textOf(me.username),
          preferred_username: me.username,
          email,
          email_verified: email !== undefined && me.verified === true,
        }
      },
    },
    ...given,
  }
}
