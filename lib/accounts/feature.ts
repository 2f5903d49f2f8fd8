import { AuthnUsageError } from '../errors/errors.js'
import { requireLogin } from '../login/needs.js'
import { emailOf } from '../mail/email.js'
import { mailLimits } from '../mail/limits.js'
import { Counters } from '../throttle/counters.js'
import { quotasIn, redisOf } from '../throttle/quotas.js'
import { Mails } from '../mail/mails.js'
import { accountLinks, type LinkClaims } from './links.js'
import { accountRoutes } from './routes.js'
import { AccountTools } from './tools.js'
import type { Feature, FeatureContext } from '../feature.js'
import type { ResolvedAccounts } from './options.js'
import type { Accounts } from '../../types/accounts.js'

export { resolve, schema } from './options.js'

/** Seconds for which an invitation works: 7 days, at least a minute, at most 30 days. */
const invitation = { standard: 604_800, least: 60, most: 2_592_000 }

/** What the admin API of the option `users` gives besides the options of the app. */
export type InviteOptions = NonNullable<Parameters<Accounts['invite']>[2]> &
  Pick<LinkClaims, 'admin'>

/** The option `accounts`: sign-up, forgotten passwords, and changes. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<ResolvedAccounts>): Feature {
  const { app, log, options, resolvedBefore } = context
  const resolved = { ...context.resolved, hasNoWayIn: resolvedBefore.users?.hasNoWayIn }
  const { path, keys } = requireLogin(
    'accounts',
    context,
    'an address may go to another person, who must not find old sessions.',
  )
  const { window } = resolved.limits
  const redis = redisOf(options, window, log)
  const quotas = quotasIn(new Counters(window), () => redis)
  const limits = mailLimits(keys.path, ['sign-up', 'reset'], resolved, quotas)
  const links = accountLinks(keys, resolved)
  let tools: AccountTools
  const api: Accounts = {
    async invite(email, request, options: InviteOptions = {}) {
      const { data, expiresIn = invitation.standard, admin } = options
      const address = emailOf(String(email)) ?? misuse('expected an e-mail address')
      const { least, most } = invitation
      if (!Number.isInteger(expiresIn) || expiresIn < least || expiresIn > most) {
        misuse(`found expiresIn ${expiresIn}, expected whole seconds from ${least} to ${most}`)
      }
      if (await tools.isTaken(address, request)) return false
      const link = links.make('sign-up', { email: address, invitation: data, admin }, expiresIn)
      await tools.mails.send(request, 'invitation', address, null, link)
      return true
    },
    settled: () => tools.mails.settled(),
  }
  return {
    name: 'accounts',
    api,
    open(registration) {
      const mails = new Mails('account', resolved.given, registration.hiddenFields, limits)
      tools = new AccountTools(resolved, links, mails, registration, app.authn.sessions)
    },
    routes: () => accountRoutes(path, tools),
    messageValues: { minPasswordLength: String(resolved.minPasswordLength) },
    stats: () => ({ created: tools.created, ...tools.mails.counts }),
    // No request waits for a file.
    async ready() {
      await Promise.all([limits.ready(), tools.registration.passwords.load()])
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
