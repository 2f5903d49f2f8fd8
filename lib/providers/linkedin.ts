import { oauth2Entry, emailOf, textOf } from './entry.js'

/**
 * An entry of `loginWith` for LinkedIn. `sub` is the id of the user in your app. LinkedIn rejects PKCE and has no nonce in its
 * ID tokens, so only `state` and the client secret protect a code. @function
 */
// learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2, read in November 2026. That PKCE is
// rejected: UsefulSoftwareCo/executor#2087, alexziskind1/nativescript-oauth2#132; the nonce: authlib/authlib#763.
export const linkedin = oauth2Entry({
  issuer: 'https://www.linkedin.com/oauth',
  clientAuth: 'post',
  authorizationEndpoint: 'https://www.linkedin.com/oauth/v2/authorization',
  tokenEndpoint: 'https://www.linkedin.com/oauth/v2/accessToken',
  scope: 'openid profile email',
  pkce: false,
  async profile(get) {
    const me = await get('https://api.linkedin.com/v2/userinfo')
    const names = { name: textOf(me.name), picture: textOf(me.picture) }
    return { sub: me.sub, ...names, ...emailOf(me.email, me.email_verified) }
  },
})
