import type { AccountMail, AccountMailKind } from 'fastify-authn'
import { createTransport } from 'nodemailer'

const subjects: Readonly<Record<AccountMailKind, string>> = {
  'sign-up': 'Finish your sign-up',
  'account-exists': 'You already have an account',
  'no-password': 'You log in without a password',
  reset: 'Choose a new password',
  invitation: 'You are invited',
  'email-confirm': 'Confirm your new address',
  'email-change': 'Your address is about to change',
  'set-password': 'Set a password',
  'password-changed': 'Your password was changed',
  'email-changed': 'Your address was changed',
  'account-deleted': 'Your account was deleted',
  'log-in': 'Log in',
}

/** @param url - such as `smtps://user:password@smtp.shop.example?pool=true` */
export function smtpMailer(url: string, from: string) {
  const transport = createTransport(url, { from })
  return {
    /** For the option `accounts.sendMail`. */
    async sendMail({ kind, to, link }: AccountMail): Promise<void> {
      const subject = subjects[kind]
      const text = link === undefined ? `${subject}.` : `${subject}:\n\n${link}`
      await transport.sendMail({ to, subject, text })
    },
    close: () => transport.close(),
  }
}
