import { isSameService } from '../authenticators/shared-keys.js'
import type { ResolvedOptions } from '../options/resolve.js'
import { requireOptions } from '../options/check.js'
import { wrongOption } from '../errors/errors.js'
import { requireLogin } from '../login/needs.js'
import { belowLogin, urlOf } from '../login/plugin-routes.js'
import { StoredAccounts } from '../login/stored-accounts.js'
import { noClaims } from '../login/token.js'
import { emailOf } from '../mail/email.js'
import { mailLimits } from '../mail/limits.js'
import { Mails } from '../mail/mails.js'
import { loginExpired } from '../tokens/step.js'
import { Counters } from '../throttle/counters.js'
import { quotasIn, redisOf, type Quotas } from '../throttle/quotas.js'
import { day } from './codes.js'
import { mailLoginRoutes, shown } from './routes.js'
import { codeInvalid, MailLoginTools } from './tools.js'
import type { Body } from './handlers.js'
import type { AccountValues } from '../../types/mail.js'
import type { ResolvedMailLogin } from './options.js'
import type { Feature, FeatureContext } from '../feature.js'

export { resolve, schema } from './options.js'

interface Counts {
  readonly userService: ResolvedOptions['userService']
  /** Of the first registration: it tells these counts in Redis from others. */
  readonly route: string
  readonly mails: Quotas
  readonly codes: Quotas
  redis?: ReturnType<typeof redisOf>
}

const counts = new WeakMap<FeatureContext['root'], Counts[]>()

/** Registrations with the same users share them, or two would allow twice the guesses and the e-mails. */
function sharedCounts({ root, options, log }: FeatureContext, route: string): Counts {
  const all = counts.get(root) ?? []
  counts.set(root, all)
  const { throttle, userService } = options
  const present = all.find((each) => isSameService(each.userService, userService))
  const redis = async () => shared.redis ?? null
  const shared: Counts = present ?? {
    userService,
    route,
    mails: quotasIn(new Counters(day), redis),
    // Guesses at many addresses must not drop the count of one.
    codes: quotasIn(new Counters(day, true), redis),
  }
  if (present === undefined) all.push(shared)
  if (throttle !== false && throttle.redis) shared.redis ??= redisOf(options, day, log)
  return shared
}

const canGetMail = ({ email }: AccountValues): boolean => email !== null && emailOf(email) !== null

/** The option `mailLogin`: logins by an e-mail with a link and a code. @throws ERR_AUTH_OPTION */
export function create(context: FeatureContext<ResolvedMailLogin>): Feature {
  const { app, options, resolved, resolvedBefore } = context
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
  const quotas = { limits: others.limits, linkExpiry: resolved.expiresIn }
  const { route, mails, codes } = sharedCounts(context, urlOf(app, belowLogin(path, 'mail')))
  const limits = mailLimits(route, [], quotas, mails)
  let tools: MailLoginTools
  return {
    name: 'mailLogin',
    beginsOnce: true,
    replacesPasswords: !hasPasswords,
    confirmLogin(bound, request) {
      const [email, state] = JSON.parse(bound) as [string, string]
      return tools.confirm(email, state, request)
    },
    letsIn(user) {
      const { values, hasPassword } = tools.accounts.accountOf(user, '')
      return accept === undefined && canGetMail(values) && (isForAll || hasPassword)
    },
    confirmations: [
      {
        name: 'mail',
        amr: ['otp'],
        async isOffered({ user, sub }, request) {
          const account = tools.accounts.accountOf(user, sub)
          // What fails is told where an e-mail is asked for.
          const accepts = () => tools.accepts(account, request).catch(() => false)
          return canGetMail(account.values) && accepts()
        },
        proves: {
          body: shown,
          async check({ sub }, { token, code }: Body, request) {
            const shown = await tools.read(token, code, request)
            const { account, began, confirm, once } = shown
            const own = account && (await tools.accounts.subOf(account, request, noClaims))
            if (account !== null && String(own) === String(sub))
              return { user: account.user, began, confirm, once, use: () => tools.forget(shown) }
            throw (code === undefined ? loginExpired : codeInvalid)('it is of another user')
          },
        },
      },
    ],
    open(registration) {
      const sending = new Mails('mail', given, registration.hiddenFields, limits)
      const stored = new StoredAccounts(registration, { given, emailField })
      tools = new MailLoginTools(settings, keys, stored, sending, { route, ...codes }, registration)
    },
    routes: () => mailLoginRoutes(path, tools),
    stats: () => ({ created: tools.created, ...tools.mails.counts }),
    async ready() {
      await mails.ready()
    },
    stop: () => tools.mails.close(),
    close: () => tools.mails.close(),
    get testing() {
      return tools
    },
  }
}
