import type { FastifyPluginAsync } from 'fastify'
import type { Test } from 'tap'
import type { AccountMail, AuthnOptions } from '../../lib/index.js'
import type { MailLoginOptions } from '../../types/mail-login.js'
import { accountsApp, type AccountUser } from './accounts.js'
import { bodyOf } from './client.js'

export const alice = 'alice@example.com'
export const expired = '401 ERR_AUTH_LOGIN_EXPIRED'
export const wrong = '403 ERR_AUTH_MAIL_CODE_INVALID'

export type LogInMail = Extract<AccountMail, { kind: 'log-in' }> & { readonly code: string }

interface Asked {
  readonly token: string
  readonly expiresIn: number
  readonly sign: string
}

type Options = Partial<Omit<AuthnOptions, 'accounts'>>

/** An app whose users log in by e-mail: alice and bob, who have a password, and carol, who has none. */
export async function mailApp(
  t: Test,
  mailLogin: true | MailLoginOptions<AccountUser> = true,
  options: Options = {},
  accounts: Parameters<typeof accountsApp>[1] = {},
  plugin?: FastifyPluginAsync,
) {
  const app = await accountsApp(t, accounts, { mailLogin, ...options }, (app) =>
    plugin === undefined ? undefined : app.register(plugin),
  )
  const ask = async (email = alice, headers = {}) =>
    bodyOf(await app.post('/login/mail', { email }, headers)) as unknown as Asked
  const finish = (body: object, headers = {}) => app.send('/login/mail/finish', body, headers)
  return {
    ...app,
    ask,
    finish,
    /** Asks for an e-mail. @returns the response, and the e-mail */
    async asked(email = alice, headers = {}) {
      const asked = await ask(email, headers)
      const [mail] = await app.mails()
      return { ...asked, mail: mail as LogInMail }
    },
  }
}

/** Another code of six digits. */
export const otherCode = (code: string, by = 1): string =>
  String((Number(code) + by) % 1_000_000).padStart(6, '0')
