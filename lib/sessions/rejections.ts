import { row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  codes: {
    ERR_AUTH_REFRESH_INVALID: row(
      401,
      'auth.refresh-invalid',
      'The refresh token is invalid, or its session has expired',
    ),
    ERR_AUTH_REFRESH_REUSED: row(401, 'auth.refresh-reused', 'The refresh token was used before'),
    ERR_AUTH_LOGIN_REFUSED: row(403, 'auth.forbidden', 'The user may not log in'),
    ERR_AUTH_CURRENT_PASSWORD: row(403, 'auth.current-password', 'The current password is wrong'),
  },
  messages: {
    'auth.refresh-invalid': 'Your session has expired. Please log in again.',
    'auth.refresh-reused': 'Your session was revoked to protect your account. Please log in again.',
    'auth.current-password': 'The current password is wrong.',
  },
}
