import { oauth2Entry, emailOf, textOf } from './entry.js'

const [dialog, graph] = ['https://www.facebook.com/v23.0', 'https://graph.facebook.com/v23.0']

/**
 * An entry of `loginWith` for Facebook. `sub` is the id of the user in your app: another app of yours sees another one.
 * `email_verified` is always false, since its documentation promises nothing. @function
 */
// developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow, read in November 2026.
export const facebook = oauth2Entry({
  issuer: 'https://www.facebook.com',
  clientAuth: 'post',
  authorizationEndpoint: `${dialog}/dialog/oauth`,
  tokenEndpoint: `${graph}/oauth/access_token`,
  scope: 'public_profile email',
  async profile(get) {
    const { id: sub, name, email } = await get(`${graph}/me?fields=id,name,email`)
    return { sub, name: textOf(name), ...emailOf(email, false) }
  },
})
