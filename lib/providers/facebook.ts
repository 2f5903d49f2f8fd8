import { entry, emailOf } from './entry.js'
import type { Entry, OAuth2Entry } from '../../types/providers.js'

const [dialog, graph] = ['https://www.facebook.com/v23.0', 'https://graph.facebook.com/v23.0']

/**
 * An entry of `loginWith` for Facebook. `sub` is the id of the user in your app: another app of yours sees another one.
 * `email_verified` is always false, since its documentation promises nothing.
 */
// developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow, read in November 2026.
export function facebook<Given extends OAuth2Entry>({
  scope = 'public_profile email',
  ...given
}: Given): Entry<Given, 'scope'> {
  return entry(
    {
      issuer: 'https://www.facebook.com',
      clientAuth: 'post',
      oauth2: {
        authorizationEndpoint: `${dialog}/dialog/oauth`,
        tokenEndpoint: `${graph}/oauth/access_token`,
        scope,
        async profile(get) {
          const { id: sub, name, email } = await get(`${graph}/me?fields=id,name,email`)
          return { sub, name, ...emailOf(email, false) }
        },
      },
    },
    given,
  )
}
