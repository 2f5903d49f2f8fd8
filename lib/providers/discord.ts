import { oauth2Entry, emailOf, textOf } from './entry.js'

/** An entry of `loginWith` for Discord. `sub` is the id of the user. @function */
// docs.discord.com: "OAuth2" and "User Object" (`verified`: whether the e-mail is verified), and
// discord.com/.well-known/oauth-authorization-server (Basic or post, PKCE with S256, `iss`), read in November 2026.
export const discord = oauth2Entry({
  issuer: 'https://discord.com',
  clientAuth: 'basic',
  authorizationEndpoint: 'https://discord.com/oauth2/authorize',
  tokenEndpoint: 'https://discord.com/api/oauth2/token',
  scope: 'identify email',
  async profile(get) {
    const me = await get('https://discord.com/api/users/@me')
    const preferred_username = textOf(me.username)
    const name = textOf(me.global_name) ?? preferred_username
    return { sub: me.id, name, preferred_username, ...emailOf(me.email, me.verified) }
  },
})
