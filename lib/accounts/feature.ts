import { AuthnUsageError } from '../errors/errors.js'
import { loginFor } from '../login/needs.js'
import { sharedCounters } from '../throttle/throttle.js'
import { emailOf } from './email.js'
import { accountLimits } from './limits.js'
import { accountLinks } from './links.js'
import { Mails } from './mails.js'
import { accountRoutes } from './routes.js'
import { AccountTools } from './tools.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { ResolvedAccounts } from './options.js'
import type { Accounts } from '../../types/accounts.js'

export { resolve, schema } from './options.js'

/** Seconds for which an invitation works: 7 days, at least a minute, at most 30 days. */
const invitation = { standard: 604_800, least: 60, most: 2_592_000 }

/** The option `accounts`: sign-up, forgotten passwords, and changes. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<ResolvedAccounts>): Feature {
  const { app, log, resolved, options } = context
  const { throttle } = options
  const { path, keys } = loginFor(
    'accounts',
    context,
    'an address may go to another person, who must not find old sessions.',
  )
  const { limits } = resolved
  const redis = throttle
    ? sharedCounters({ ...throttle, window: limits.window }, log)
    : Promise.resolve(null)
  const links = accountLinks(keys, resolved)
  let tools: AccountTools
  const api: Accounts = {
    async invite(email, request, { data, expiresIn = invitation.standard } = {}) {
      const address = emailOf(String(email)) ?? misuse('expected an e-mail address')
      const { least, most } = invitation
      if (!Number.isInteger(expiresIn) || expiresIn < least || expiresIn > most) {
        misuse(`found expiresIn ${expiresIn}, expected whole seconds from ${least} to ${most}`)
      }
      if (await tools.isTaken(address, request)) return false
      const link = links.make('sign-up', { email: address, invitation: data }, expiresIn)
      await tools.mails.send(request, 'invitation', address, null, link)
      return true
    },
    settled: () => tools.mails.settled(),
  }
  return {
    name: 'accounts',
    api,
    open(registration) {
      const limit = accountLimits(keys.path, resolved, redis)
      const mails = new Mails(resolved.given, registration.hiddenFields, limit)
      tools = new AccountTools(resolved, links, mails, registration, app.authn.sessions)
    },
    routes: () => accountRoutes(path, tools),
    messageValues: { minPasswordLength: String(resolved.minPasswordLength) },
    stats: () => ({ created: tools.created, ...tools.mails.counts }),
    // No request waits for a file.
    async ready() {
      await Promise.all([redis, tools.registration.passwords.load()])
    },
    stop: () => tools.mails.close(),
    close: () => tools.mails.close(),
    get testing() {
      return tools
    },
  }
}

function misuse(problem: string): never {
  throw new AuthnUsageError('ERR_AUTH_CLAIMS', `accounts.invite(): ${problem}.`)
}
