import type { FastifyPluginAsync } from 'fastify'
import type { Test } from 'tap'
import { authn, type AccountMail, type AuthnOptions } from '../../lib/index.js'
import type { MailLoginOptions } from '../../types/mail-login.js'
import { accountsApp, accountsOver, hash, pages, type AccountUser } from './accounts.js'
import { cost, fastify, secret } from './app.js'
import { bodyOf, clientOver } from './client.js'

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

/** Registrations with the same users, each below its name, with limits of e-mails of its own. */
export async function mailRegistrations(t: Test, limits: Readonly<Record<string, object>>) {
  const sent: AccountMail[] = []
  const { findByUsername, ...functions } = accountsOver([{ id: 1, email: alice, password: hash }])
  const userService = { findByUsername }
  const sendMail = (mail: AccountMail) => void sent.push(mail)
  const app = fastify(t)
  for (const [name, each] of Object.entries(limits))
    await app.register(
      async (scope) => {
        await scope.register(authn, {
          userService,
          jwt: { secret },
          hashing: { cost },
          errorBody: ({ code }: { code: string }) => ({ code }),
          login: { usernameField: 'email', subject: (user: object) => (user as AccountUser).id },
          sessions: { name },
          accounts: { url: pages, ...functions, sendMail, limits: each },
          mailLogin: true,
        } as unknown as AuthnOptions)
        scope.get('/settled', () => scope.authn.accounts.settled())
      },
      { prefix: `/${name}` },
    )
  await app.ready()
  const client = clientOver(app)
  return {
    ...client,
    /** Asks a registration for an e-mail. @returns the token of the response, and the e-mail, if one was sent */
    async asked(name: string) {
      const { token } = bodyOf(await client.post(`/${name}/login/mail`, { email: alice }))
      await app.inject({ url: `/${name}/settled` })
      return { token, mail: sent.splice(0)[0] as LogInMail | undefined }
    },
  }
}
