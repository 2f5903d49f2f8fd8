import { row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  codes: {
    ERR_AUTH_CODE_INVALID: row(403, 'auth.code-invalid', 'The code is invalid'),
    ERR_AUTH_LOGIN_EXPIRED: row(401, 'auth.login-expired', 'The login has expired'),
  },
  messages: {
    'auth.code-invalid': 'This code is wrong, or was used before.',
  },
}
