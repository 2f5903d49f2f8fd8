import { busy, row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  codes: {
    ERR_AUTH_LOGIN_STATE: row(401, 'auth.login-expired', 'The login has expired'),
    ERR_AUTH_LOGIN_DENIED: row(401, 'auth.login-failed', 'The provider has rejected the login'),
    ERR_AUTH_LOGIN_INVALID: row(
      401,
      'auth.login-failed',
      'The response of the provider is invalid',
    ),
    ERR_AUTH_PROVIDER_UNAVAILABLE: busy,
    ERR_AUTH_LINK_TAKEN: row(409, 'auth.link-taken', 'The account is linked to another user'),
  },
  messages: {
    'auth.login-failed': 'The login was not successful.',
    'auth.link-taken': 'This account of the provider belongs to another user.',
  },
}
