import type { AccountMail, AccountMailKind } from 'fastify-authn'
import { deviceOf } from './device.js'

/** A mail as the page shows it. */
export interface KeptMail {
  readonly id: number
  readonly sent: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The path of the link in it, with its token; null for a mail without one. */
  readonly open: string | null
}

/** How many mails are kept. */
const most = 20

type Words = readonly [subject: string, text: string]

/** What each kind of mail says, but for that to log in. */
const words: Record<Exclude<AccountMailKind, 'log-in'>, Words> = {
  'sign-up': [
    'Finish your sign-up',
    'Choose a password to finish. If you did not sign up, do nothing.',
  ],
  'account-exists': [
    'You already have an account',
    'Someone signed up with your address. Log in, or choose a new password.',
  ],
  'no-password': [
    'You have no password',
    'Log in with the provider that you have used before, and then set a password in “Your account”.',
  ],
  reset: ['Choose a new password', 'If you did not ask for this, do nothing.'],
  invitation: ['You are invited', 'Choose a password to join.'],
  'email-confirm': [
    'Confirm your new address',
    'Open the link in the browser in which you are logged in.',
  ],
  'email-change': [
    'Your address is being changed',
    'If this is not you, choose a new password: that stops it.',
  ],
  'set-password': [
    'Set a password',
    'Open the link in the browser in which you are logged in. If you did not ask for this, do nothing.',
  ],
  'password-changed': [
    'Your password was changed',
    'All other sessions are logged out. If this was not you, call us.',
  ],
  'email-changed': ['Your address was changed', 'If this was not you, call us.'],
  'account-deleted': ['Your account was deleted', 'Your notes and API keys are deleted too.'],
}

/** The letters are on the page that has asked for it, and the client is named, so that people log in by none but their own. */
const loginWords = ({ sign, code, address, userAgent }: Kind<'log-in'>): Words => [
  `Log in (${sign})`,
  `Type this code where you see the letters ${sign}: ${code}\n` +
    'Or open the link, in any browser.\n' +
    `It was asked for with ${deviceOf(userAgent)}, at ${address}. If that was not you, do nothing.`,
]
type Kind<Name extends AccountMailKind> = Extract<AccountMail, { kind: Name }>

/** Stands in for a mail server: keeps the last mails in memory. They are never logged, because a link is a secret. */
export function createMailbox() {
  const mails: KeptMail[] = []
  let sent = 0
  return {
    /** The newest first. */
    mails: (): readonly KeptMail[] => mails,

    sendMail(mail: AccountMail): void {
      const { to, link } = mail
      const [subject, text] = mail.kind === 'log-in' ? loginWords(mail) : words[mail.kind]
      let open = null
      if (link !== undefined) {
        // Without the origin: the demo also listens on ports and hosts that its `accounts.url` does not name.
        const { pathname, hash } = new URL(link)
        open = pathname + hash
      }
      sent += 1
      mails.unshift({ id: sent, sent: new Date().toISOString(), to, subject, text, open })
      mails.splice(most)
    },
  }
}
