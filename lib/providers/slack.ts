import type { Entry, OpenIdEntry } from '../../types/providers.js'

/**
 * An entry of `loginWith` for Slack. The workspace is the claim `https://slack.com/team_id`: check it in `claims` or `username`
 * if only yours may log in.
 */
// docs.slack.dev/reference/methods/openid.connect.token, read in November 2026.
export function slack<Given extends OpenIdEntry>(given: Given): Entry<Given> {
  return { issuer: 'https://slack.com', ...given }
}
