// The mailer of accounts.ts in its test: it keeps what it is given.
import type { AccountMailKind } from 'fastify-authn'

export interface Letter {
  readonly to: string
  readonly subject: string
  readonly text: string | undefined
}

export const outbox: Letter[] = []

export const mailer = { send: (letter: Letter) => void outbox.push(letter) }

export const subjects: Readonly<Record<AccountMailKind, string>> = {
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
