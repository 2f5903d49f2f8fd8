import type { MessageKey } from './messages.js'

/**
 * Codes of requests that are rejected: the client did something wrong, or has to wait. Codes are stable, messages are
 * not.
 */
export type RefusalCode =
  | 'ERR_AUTH_NO_CREDENTIALS'
  | 'ERR_AUTH_MALFORMED_CREDENTIALS'
  | 'ERR_AUTH_INVALID_CREDENTIALS'
  | 'ERR_AUTH_JWT_INVALID'
  | 'ERR_AUTH_JWT_NOT_VALID_YET'
  | 'ERR_AUTH_JWT_EXPIRED'
  | 'ERR_AUTH_REFUSED'
  | 'ERR_AUTH_REFRESH_INVALID'
  | 'ERR_AUTH_REFRESH_REUSED'
  | 'ERR_AUTH_API_KEY_INVALID'
  | 'ERR_AUTH_API_KEY_EXPIRED'
  | 'ERR_AUTH_API_KEY_NOT_ACCEPTED'
  | 'ERR_AUTH_CREDENTIALS_NOT_ACCEPTED'
  | 'ERR_AUTH_INSUFFICIENT_SCOPE'
  | 'ERR_AUTH_FORBIDDEN'
  | 'ERR_AUTH_LOGIN_REFUSED'
  | 'ERR_AUTH_CROSS_SITE'
  | 'ERR_AUTH_TOO_MANY_ATTEMPTS'
  | 'ERR_AUTH_OVERLOADED'
  | 'ERR_AUTH_USER_SERVICE_TIMEOUT'
  | 'ERR_AUTH_ISSUER_UNAVAILABLE'
  | 'ERR_AUTH_STORE_UNAVAILABLE'

/** Codes of internal errors: something that the plugin depends on has failed during a request. */
export type FaultCode =
  | 'ERR_AUTH_USER_SERVICE'
  | 'ERR_AUTH_PASSWORD_FIELD'
  | 'ERR_AUTH_AUTHENTICATOR'
  | 'ERR_AUTH_ACCESS'
  | 'ERR_AUTH_ON_UNAUTHORIZED'
  | 'ERR_AUTH_TOKEN_FUNC'
  | 'ERR_AUTH_COOKIE'
  | 'ERR_AUTH_HASHING'
  | 'ERR_AUTH_UNGUARDED'

/** Codes of misuse by the app: most make startup fail, the others are thrown by the wrong call. */
export type MisuseCode =
  | 'ERR_AUTH_OPTION'
  | 'ERR_AUTH_MARK'
  | 'ERR_AUTH_KEY'
  | 'ERR_AUTH_DECORATOR'
  | 'ERR_AUTH_CLAIMS'
  | 'ERR_AUTH_API_KEY'
  | 'ERR_AUTH_CONTEXT'
  | 'ERR_AUTH_AUDIT'
  | 'ERR_AUTH_REPORT'
  | 'ERR_AUTH_TESTING'

/** Why a request is rejected: what the option `errorBody` gets. */
export interface RejectionLike extends Error {
  /**
   * Stable. At the plugin's own routes also the code of Fastify for a malformed body, such as `FST_ERR_VALIDATION` or
   * `FST_ERR_CTP_INVALID_JSON_BODY`.
   */
  readonly code: RefusalCode | (string & {})
  /**
   * HTTP status: 401; 403 for a missing scope or role, or for a cross-site request (CSRF); 429 and 503 if the client has to
   * wait. For a malformed body 400, 413 or 415.
   */
  readonly statusCode: number
  /** In the language of the request; that of a malformed body is Fastify's, in English. */
  readonly message: string
  /** Seconds after which the client may try again, for `Retry-After`. */
  readonly retryAfter?: number
}

/** The error of a rejected request. Recognise it by its `code`. */
export interface AuthenticationErrorLike extends RejectionLike {
  /** Why the request is rejected. */
  readonly code: RefusalCode
  /** The key of the message, or null if {@link Error.message} is sent as it is. */
  readonly key: MessageKey | null
}
