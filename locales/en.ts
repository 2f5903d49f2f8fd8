import type { Catalogue } from '../types/messages.js'

export const en = {
  'auth.invalid-credentials': 'Invalid credentials.',
  'auth.no-credentials-provided': 'Invalid or missing authentication header.',
  'auth.jwt-invalid': 'Your authentication token is invalid.',
  'auth.logged-out': 'You were logged out.',
  'auth.jwt-not-valid-yet': 'Your authentication token is not valid yet.',
  'auth.jwt-expired': 'Your authentication token is expired.',
  'auth.credentials-not-accepted': 'This route does not accept these credentials.',
  'auth.overloaded': 'The server is busy. Please try again later.',
  'auth.too-many-attempts': 'Too many failed attempts. Please try again later.',
  'auth.too-many-mails': 'Too many e-mails were requested. Please try again later.',
  'auth.login-expired': 'Your login has expired. Please try again.',
  'auth.insufficient-authentication': 'Please confirm that it is you.',
  'auth.insufficient-scope': 'Your credentials do not allow this action.',
  'auth.forbidden': 'You are not allowed to do this.',
} satisfies Partial<Catalogue>
