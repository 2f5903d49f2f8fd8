import { entry, emailOf, textOf } from './entry.js'
import type { Entry, OAuth2Entry } from '../../types/providers.js'

/** An entry of `loginWith` for Discord. `sub` is the id of the user. */
// docs.discord.com: "OAuth2" and "User Object" (`verified`: whether the e-mail is verified), and
// discord.com/.well-known/oauth-authorization-server (Basic or post, PKCE with S256, `iss`), read in November 2026.
export function discord<Given extends OAuth2Entry>({
  scope = 'identify email',
  ...given
}: Given): Entry<Given, 'scope'> {
  return entry(
    {
      issuer: 'https://discord.com',
      oauth2: {
        authorizationEndpoint: 'https://discord.com/oauth2/authorize',
        tokenEndpoint: 'https://discord.com/api/oauth2/token',
        scope,
        async profile(get) {
          const me = await get('https://discord.com/api/users/@me')
          const name = textOf(me.global_name) ?? textOf(me.username)
          const names = { name, preferred_username: me.username }
          return { sub: me.id, ...names, ...emailOf(me.email, me.verified) }
        },
      },
    },
    given,
  )
}
