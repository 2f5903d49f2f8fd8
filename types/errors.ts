import type { MessageKey } from './messages.js'

/** The codes of {@link RejectionCode} with their HTTP status. Each feature adds its own. */
export interface RejectionCodes {
  /** There are no credentials of an accepted scheme. */
  ERR_AUTH_NO_CREDENTIALS: 401
  /** A Basic header violates RFC 7617, or an `Authorization` header or a cookie comes twice. */
  ERR_AUTH_MALFORMED_CREDENTIALS: 401
  /** The user is unknown, or the password is wrong. */
  ERR_AUTH_INVALID_CREDENTIALS: 401
  /** The credentials are of an authenticator that the route does not accept. */
  ERR_AUTH_CREDENTIALS_NOT_ACCEPTED: 401
  /** The token is not accepted, for another reason than its times. */
  ERR_AUTH_JWT_INVALID: 401
  /** The time `nbf` of the token has not come. */
  ERR_AUTH_JWT_NOT_VALID_YET: 401
  /** The time `exp` of the token has passed. */
  ERR_AUTH_JWT_EXPIRED: 401
  /** An authenticator of the app has thrown an error with a text of its own. */
  ERR_AUTH_REFUSED: 401
  /** The token between two steps was changed, has expired, or is of another user; or the user has changed. */
  ERR_AUTH_LOGIN_EXPIRED: 401
  /** The mark or the route asks for several factors, or for an authentication that is not as old. */
  ERR_AUTH_INSUFFICIENT_AUTHENTICATION: 401
  /** A scope that the mark requires is missing. */
  ERR_AUTH_INSUFFICIENT_SCOPE: 403
  /** A role that the mark requires is missing. */
  ERR_AUTH_FORBIDDEN: 403
  /** Too many attempts have failed. */
  ERR_AUTH_TOO_MANY_ATTEMPTS: 429
  /** Too many e-mails were requested. */
  ERR_AUTH_TOO_MANY_MAILS: 429
  /** Too many passwords wait to be hashed, or too many API keys or refresh tokens of one address to be looked up. */
  ERR_AUTH_OVERLOADED: 503
  /** The user service is too slow. */
  ERR_AUTH_USER_SERVICE_TIMEOUT: 503
  /** A store is unavailable. */
  ERR_AUTH_STORE_UNAVAILABLE: 503
}

/**
 * Codes of requests that are rejected: the client did something wrong, or has to wait. Codes are stable, messages are
 * not.
 */
export type RejectionCode = keyof RejectionCodes

/** The codes of {@link FaultCode}. Each feature adds its own. */
export interface FaultCodes {
  /** The user service has failed. */
  ERR_AUTH_USER_SERVICE: 500
  /** The user has no field with the name `passwordField`. */
  ERR_AUTH_PASSWORD_FIELD: 500
  /** An authenticator has failed. */
  ERR_AUTH_AUTHENTICATOR: 500
  /** A function of `access` has failed. */
  ERR_AUTH_ACCESS: 500
  /** `onUnauthorized` of an authenticator has failed. */
  ERR_AUTH_ON_UNAUTHORIZED: 500
  /** `tokenFunc`, `login.claims`, `login.subject` or `login.body` has failed. */
  ERR_AUTH_TOKEN_FUNC: 500
  /** The engine of a password hash has failed or is missing, or `verify` of a foreign kind has failed. */
  ERR_AUTH_HASHING: 500
  /** The plugin does not know the matched route, so it keeps it closed. */
  ERR_AUTH_UNGUARDED: 500
}

/** Codes of internal errors: something that the plugin depends on has failed during a request. */
export type FaultCode = keyof FaultCodes

/** The codes of {@link MisuseCode}. Each feature adds its own. */
export interface MisuseCodes {
  /** An option is wrong. */
  ERR_AUTH_OPTION: true
  /** A mark is wrong, or stands where it has no effect. */
  ERR_AUTH_MARK: true
  /** A key cannot be used. */
  ERR_AUTH_KEY: true
  /** A plugin before this one has taken a name. */
  ERR_AUTH_DECORATOR: true
  /** Claims cannot be signed, or `app.authn.sessions` was not told which session. */
  ERR_AUTH_CLAIMS: true
  /** `runAs()` was called without a user or a function. */
  ERR_AUTH_CONTEXT: true
  /** A route has no mark, or there is middleware, where `requireMarks` is set. */
  ERR_AUTH_AUDIT: true
  /** The routes were asked for before the app was ready. */
  ERR_AUTH_REPORT: true
  /** The test kit runs in production, or is used wrongly. */
  ERR_AUTH_TESTING: true
}

/** Codes of misuse by the app: most make startup fail, the others are thrown by the wrong call. */
export type MisuseCode = keyof MisuseCodes

/** Why a request is rejected: what the option `errorBody` gets. */
export interface RejectionLike extends Error {
  /**
   * Stable. At the plugin's own routes also the code of Fastify for a malformed body, such as `FST_ERR_VALIDATION` or
   * `FST_ERR_CTP_INVALID_JSON_BODY`.
   */
  readonly code: RejectionCode | (string & {})
  /**
   * HTTP status: 401; 403 for a missing scope or role, or for a cross-site request (CSRF); 429 and 503 if the client has to
   * wait; 400 for a link of an e-mail or a new password that is rejected, and for a browser that asks for tokens in the body;
   * 409 if another user has the account of a provider. For a malformed body 400, 413 or 415.
   */
  readonly statusCode: number
  /** The message in the language of the request; for a malformed body, Fastify's message in English. */
  readonly message: string
  /** Seconds after which the client may try again, for `Retry-After`. */
  readonly retryAfter?: number
}

/** The error of a rejected request. Recognise it by its `code`. */
export interface AuthenticationErrorLike extends RejectionLike {
  /** Why the request is rejected. */
  readonly code: RejectionCode
  /** The key of the message, or null if {@link Error.message} is sent as it is. */
  readonly key: MessageKey | null
}
