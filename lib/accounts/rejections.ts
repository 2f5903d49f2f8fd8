import { row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  codes: {
    ERR_AUTH_LINK_INVALID: row(400, 'auth.link-invalid', 'The link is invalid'),
    ERR_AUTH_PASSWORD_TOO_SHORT: row(400, 'auth.password-too-short', 'The password is too short'),
    ERR_AUTH_PASSWORD_TOO_LONG: row(400, 'auth.password-too-long', 'The password is too long'),
    ERR_AUTH_PASSWORD_GUESSABLE: row(400, 'auth.password-guessable', 'The password is guessable'),
  },
  messages: {
    'auth.link-invalid': 'This link is not valid any more. Please ask for another one.',
    'auth.password-too-short':
      'This password is too short. Please use at least {minPasswordLength} characters.',
    'auth.password-too-long': 'This password is too long.',
    'auth.password-guessable': 'This password is easy to guess. Please choose another one.',
  },
}
