import { oauth2Entry, baseUrlOf, emailOf, textOf } from './entry.js'
import type { Entry, OAuth2Entry, OwnHost } from '../../types/providers.js'

type Email = { email?: unknown; primary?: unknown; verified?: unknown } | null

/**
 * An entry of `loginWith` for GitHub, or a GitHub Enterprise Server at `baseUrl`. `sub` is the id of the user, which no name
 * is: `preferred_username` can be taken by others later. `email` is the primary address, if GitHub has verified it.
 */
// docs.github.com: "Authorizing OAuth apps" (PKCE, errors with the status 200), and the REST API of users and e-mails, read in
// November 2026. Its callback has `iss`, which is this issuer (langfuse/langfuse#13091, nextauthjs/next-auth#13410).
export function github<Given extends OAuth2Entry & OwnHost>(
  all: Given,
): Entry<Given, 'scope' | 'baseUrl'> {
  const [base, given] = baseUrlOf<OAuth2Entry & OwnHost>('github', all, 'https://github.com')
  const api = base === 'https://github.com' ? 'https://api.github.com' : `${base}/api/v3`
  return oauth2Entry({
    issuer: `${base}/login/oauth`,
    clientAuth: 'post',
    authorizationEndpoint: `${base}/login/oauth/authorize`,
    tokenEndpoint: `${base}/login/oauth/access_token`,
    scope: 'user:email',
    async profile(get) {
      const me = await get(`${api}/user`)
      const [login, picture] = [textOf(me.login), textOf(me.avatar_url)]
      const emails = await get<Email[]>(`${api}/user/emails?per_page=100`).catch(
        (error: { status?: number }) => {
          // A GitHub App without the permission "Email addresses" may not read them.
          if (error.status === 403 || error.status === 404) return []
          throw error
        },
      )
      const isGood = (each: Email) => each?.primary === true && each.verified === true
      const email = Array.isArray(emails) ? emails.find(isGood)?.email : undefined
      const names = { name: textOf(me.name) ?? login, preferred_username: login, picture }
      return { sub: me.id, ...names, ...emailOf(email, true) }
    },
  })(given) as Entry<Given, 'scope' | 'baseUrl'>
}
