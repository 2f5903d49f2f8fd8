import { entry, emailOf } from './entry.js'
import type { Entry, OAuth2Entry } from '../../types/providers.js'

/**
 * An entry of `loginWith` for LinkedIn. `sub` is the id of the user in your app. LinkedIn rejects PKCE and has no nonce in its
 * ID tokens, so only `state` and the client secret protect a code.
 */
// learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2, read in November 2026. That PKCE is
// rejected: UsefulSoftwareCo/executor#2087, alexziskind1/nativescript-oauth2#132; the nonce: authlib/authlib#763.
export function linkedin<Given extends OAuth2Entry>({
  scope = 'openid profile email',
  ...given
}: Given): Entry<Given, 'scope'> {
  return entry(
    {
      issuer: 'https://www.linkedin.com/oauth',
      clientAuth: 'post',
      oauth2: {
        authorizationEndpoint: 'https://www.linkedin.com/oauth/v2/authorization',
        tokenEndpoint: 'https://www.linkedin.com/oauth/v2/accessToken',
        scope,
        pkce: false,
        async profile(get) {
          const me = await get('https://api.linkedin.com/v2/userinfo')
          const { sub, name, picture } = me
          return { sub, name, picture, ...emailOf(me.email, me.email_verified) }
        },
      },
    },
    given,
  )
}
