import { entry, ownOf, strictly, textOf, wrongEntry } from './entry.js'
import type { Entry, SlackEntry } from '../../types/providers.js'

const teamOf = 'https://slack.com/team_id'

/**
 * An entry of `loginWith` for Slack. `sub` is the id of the user, whose documentation does not promise that each workspace has
 * others: with `team`, users of other workspaces are rejected (403). @throws ERR_AUTH_OPTION for a `team` that is no text
 */
// docs.slack.dev/reference/methods: openid.connect.token, openid.connect.userInfo, read in November 2026.
export function slack<Given extends SlackEntry>(all: Given): Entry<Given, 'team'> {
  const { team, ...given } = ownOf(all)
  if ('team' in (Object(all) as object) && textOf(team) === undefined)
    wrongEntry('slack', 'team', 'the id of a workspace, such as T0123ABCD')
  return entry(
    {
      issuer: 'https://slack.com',
      claims(claims) {
        if (team === undefined || claims[teamOf] === team) return strictly(claims)
        const cause = 'a user of another workspace'
        const refused = { code: 'ERR_AUTH_LOGIN_REFUSED', statusCode: 403, key: 'auth.forbidden' }
        throw Object.assign(new Error('You are not allowed to do this.', { cause }), refused)
      },
    },
    given,
  )
}
