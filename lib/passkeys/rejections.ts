import { row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  codes: {
    ERR_AUTH_PASSKEY_INVALID: row(403, 'auth.passkey-invalid', 'The passkey is not accepted'),
    ERR_AUTH_PASSKEY_LAST: row(409, 'auth.passkey-last', 'The passkey is the only way to log in'),
  },
  messages: {
    'auth.passkey-invalid': 'This passkey was not accepted. Please try again.',
    'auth.passkey-last':
      'This is your only way to log in. Please set a password or add another passkey first.',
  },
}
