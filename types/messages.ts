/**
 * Keys of the message catalogue. An error names one of them, the text is chosen at the edge of the
 * response in the language of the request (specification, "Custom authenticator").
 */
export type MessageKey =
  | 'auth.invalid-credentials'
  | 'auth.no-credentials-provided'
  | 'auth.jwt-invalid'
  | 'auth.jwt-not-valid-yet'
  | 'auth.jwt-expired'
  | 'auth.overloaded'
  | 'auth.too-many-attempts'

/** A complete catalogue of one language. */
export type Catalogue = Readonly<Record<MessageKey, string>>
