/**
 * Keys of the messages. An error names a key; the text is chosen when the response is sent, in the language
 * of the request.
 */
export type MessageKey =
  | 'auth.invalid-credentials'
  | 'auth.no-credentials-provided'
  | 'auth.jwt-invalid'
  | 'auth.jwt-not-valid-yet'
  | 'auth.jwt-expired'
  | 'auth.refresh-invalid'
  | 'auth.refresh-reused'
  | 'auth.api-key-invalid'
  | 'auth.api-key-expired'
  | 'auth.api-key-not-accepted'
  | 'auth.credentials-not-accepted'
  | 'auth.overloaded'
  | 'auth.too-many-attempts'
  | 'auth.insufficient-scope'
  | 'auth.forbidden'
  | 'auth.cross-site'

/** A complete catalogue of one language. */
export type Catalogue = Readonly<Record<MessageKey, string>>
