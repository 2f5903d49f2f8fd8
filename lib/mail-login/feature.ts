import { requireOptions } from '../options/check.js'
import { wrongOption } from '../errors/errors.js'
import { requireLogin } from '../login/needs.js'
import { belowLogin, urlOf } from '../login/plugin-routes.js'
import { StoredAccounts } from '../login/stored-accounts.js'
import { noClaims } from '../login/token.js'
import { mailLimits } from '../mail/limits.js'
import { Mails } from '../mail/mails.js'
import { loginExpired } from '../tokens/step.js'
import { CodeGuesses } from './guesses.js'
import { mailLoginRoutes, shown } from './routes.js'
import { codeInvalid, MailLoginTools } from './tools.js'
import type { Body } from './handlers.js'
import type { ResolvedMailLogin } from './options.js'
import type { Feature, FeatureContext } from '../feature.js'

export { resolve, schema } from './options.js'

/** The option `mailLogin`: logins by an e-mail with a link and a code. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<ResolvedMailLogin>): Feature {
  const { app, log, options, resolved, resolvedBefore } = context
  const { accounts } = resolvedBefore
  const why = 'an address may go to another person, who must not find old sessions.'
  const { path, keys } = requireLogin('mailLogin', context, why)
  requireOptions('mailLogin', { accounts }, {})
  const { given, url, emailField, ...others } = accounts as NonNullable<typeof accounts>
  const hasPasswords = options.login && options.login.passwords !== false
  const { signUp = others.signUp && !hasPasswords, accept } = resolved.given
  if (signUp && !others.signUp) {
    wrongOption(
      'option "mailLogin.signUp": found true beside "accounts.signUp: false", by which new accounts need an invitation. Leave one of them out.',
    )
  }
  const isForAll = signUp || !hasPasswords || 'users' in resolvedBefore
  const settings = { ...resolved, signUp, isOpen: isForAll, url }
  const route = urlOf(app, belowLogin(path, 'mail'))
  const quotas = { limits: others.limits, linkExpiry: resolved.expiresIn }
  const limits = mailLimits(route, ['day'], quotas, options, log)
  const guesses = new CodeGuesses(route, limits.ready)
  let tools: MailLoginTools
  return {
    name: 'mailLogin',
    beginsOnce: true,
    replacesPasswords: !hasPasswords,
    letsIn(user) {
      const { values, hasPassword } = tools.accounts.accountOf(user, '')
      return accept === undefined && Boolean(values.email) && (isForAll || hasPassword)
    },
    confirmations: [
      {
        name: 'mail',
        amr: ['otp'],
        async isOffered({ user, sub }, request) {
          const account = tools.accounts.accountOf(user, sub)
          // What fails is told where an e-mail is asked for.
          const accepts = () => tools.accepts(account, request).catch(() => false)
          return Boolean(account.values.email) && accepts()
        },
        proves: {
          body: shown,
          async check({ sub }, { token, code }: Body, request) {
            const { account, confirm, once } = await tools.read(token, code, request)
            const own = account && (await tools.accounts.subOf(account, request, noClaims))
            if (account !== null && String(own) === String(sub))
              return { user: account.user, confirm, once }
            throw (code === undefined ? loginExpired : codeInvalid)('it is of another user')
          },
        },
      },
    ],
    open(registration) {
      const mails = new Mails('mail', given, registration.hiddenFields, limits)
      const stored = new StoredAccounts(registration, { given, emailField })
      tools = new MailLoginTools(settings, keys, stored, mails, guesses, registration)
    },
    routes: () => mailLoginRoutes(path, tools),
    stats: () => ({ created: tools.created, ...tools.mails.counts }),
    async ready() {
      await limits.ready
    },
    stop: () => tools.mails.close(),
    close: () => tools.mails.close(),
    get testing() {
      return tools
    },
  }
}
