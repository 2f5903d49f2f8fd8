/** A complete catalogue of one language: the messages by their keys. Each feature adds its own. */
export interface Catalogue {
  /** Invalid credentials. */
  readonly 'auth.invalid-credentials': string
  /** Invalid or missing authentication header. */
  readonly 'auth.no-credentials-provided': string
  /** Your authentication token is invalid. */
  readonly 'auth.jwt-invalid': string
  /** You were logged out. */
  readonly 'auth.logged-out': string
  /** Your authentication token is not valid yet. */
  readonly 'auth.jwt-not-valid-yet': string
  /** Your authentication token is expired. */
  readonly 'auth.jwt-expired': string
  /** This route does not accept these credentials. */
  readonly 'auth.credentials-not-accepted': string
  /** The server is busy. Please try again later. */
  readonly 'auth.overloaded': string
  /** Too many failed attempts. Please try again later. */
  readonly 'auth.too-many-attempts': string
  /** Too many e-mails were requested. Please try again later. */
  readonly 'auth.too-many-mails': string
  /** Your login has expired. Please try again. */
  readonly 'auth.login-expired': string
  /** Please confirm that it is you. */
  readonly 'auth.insufficient-authentication': string
  /** Your credentials do not allow this action. */
  readonly 'auth.insufficient-scope': string
  /** You are not allowed to do this. */
  readonly 'auth.forbidden': string
}

/**
 * Keys of the messages. An error names a key; the text is chosen when the response is sent, in the language
 * of the request.
 */
export type MessageKey = keyof Catalogue
