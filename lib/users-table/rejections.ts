import { row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  codes: {
    ERR_AUTH_ACCOUNT_EXISTS: row(409, 'auth.account-exists', 'The address has an account'),
    ERR_AUTH_ACCOUNT_DISABLED: row(403, 'auth.account-disabled', 'The account is suspended'),
    ERR_AUTH_IDENTITY_LAST: row(409, 'auth.identity-last', 'It is the only way to log in'),
    ERR_AUTH_OWN_ACCOUNT: row(409, 'auth.own-account', 'It is the account of the client'),
    ERR_AUTH_NOT_FOUND: row(404, 'auth.not-found', 'There is no such resource'),
  },
  messages: {
    'auth.account-exists':
      'There is an account with this address. Log in to it, and connect the provider there.',
    'auth.account-disabled': 'This account is suspended. Please contact support.',
    'auth.identity-last':
      'This is your only way to log in. Please set a password or add a passkey first.',
    'auth.own-account': 'Another admin has to do this for your own account.',
    'auth.not-found': 'This does not exist.',
  },
}
