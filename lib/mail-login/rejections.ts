import { row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  codes: {
    ERR_AUTH_MAIL_CODE_INVALID: row(403, 'auth.mail-code-invalid', 'The code is invalid'),
  },
  messages: {
    'auth.mail-code-invalid': 'This code is wrong. It works only where its e-mail was asked for.',
  },
}
