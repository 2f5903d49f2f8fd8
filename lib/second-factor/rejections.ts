import { row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  codes: { ERR_AUTH_CODE_INVALID: row(403, 'auth.code-invalid', 'The code is invalid') },
  messages: { 'auth.code-invalid': 'This code is wrong, or was used before.' },
}
