import { row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  unrecognized: ['ERR_AUTH_API_KEY_INVALID'],
  codes: {
    ERR_AUTH_API_KEY_INVALID: row(401, 'auth.api-key-invalid', 'The API key is invalid'),
    ERR_AUTH_API_KEY_EXPIRED: row(401, 'auth.api-key-expired', 'The API key expired'),
    ERR_AUTH_API_KEY_NOT_ACCEPTED: row(401, 'auth.api-key-not-accepted', 'No API keys here'),
  },
  messages: {
    'auth.api-key-invalid': 'Your API key is invalid.',
    'auth.api-key-expired': 'Your API key is expired.',
    'auth.api-key-not-accepted': 'This route does not accept API keys.',
  },
}
