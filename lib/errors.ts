import type {
  AuthenticationErrorLike,
  FaultCode,
  MisuseCode,
  RefusalCode,
} from '../types/errors.js'
import type { MessageKey } from '../types/messages.js'
import { en } from '../locales/en.js'
import { kFault } from './symbols.js'

export interface RefusalRow {
  readonly status: 401 | 429 | 503
  /** Null: the text of the error is sent as it is. */
  readonly key: MessageKey | null
  /** `error_description` of RFC 6750 §3, ASCII; used where a Bearer token was sent. */
  readonly description: string
}

/** Every refusal: one row a code, in a table without prototype. */
const refusals: Readonly<Record<RefusalCode, RefusalRow>> = Object.assign(Object.create(null), {
  ERR_AUTH_NO_CREDENTIALS: {
    status: 401,
    key: 'auth.no-credentials-provided',
    description: 'The token is missing',
  },
  ERR_AUTH_MALFORMED_CREDENTIALS: {
    status: 401,
    key: 'auth.no-credentials-provided',
    description: 'The token is malformed',
  },
  ERR_AUTH_INVALID_CREDENTIALS: {
    status: 401,
    key: 'auth.invalid-credentials',
    description: 'The token is not accepted',
  },
  ERR_AUTH_JWT_INVALID: {
    status: 401,
    key: 'auth.jwt-invalid',
    description: 'The token is invalid',
  },
  ERR_AUTH_JWT_NOT_VALID_YET: {
    status: 401,
    key: 'auth.jwt-not-valid-yet',
    description: 'The token is not valid yet',
  },
  ERR_AUTH_JWT_EXPIRED: {
    status: 401,
    key: 'auth.jwt-expired',
    description: 'The token expired',
  },
  ERR_AUTH_REFUSED: { status: 401, key: null, description: 'The token is not accepted' },
  ERR_AUTH_TOO_MANY_ATTEMPTS: {
    status: 429,
    key: 'auth.too-many-attempts',
    description: 'Too many failed attempts',
  },
  ERR_AUTH_OVERLOADED: {
    status: 503,
    key: 'auth.overloaded',
    description: 'The server is busy',
  },
  ERR_AUTH_USER_SERVICE_TIMEOUT: {
    status: 503,
    key: 'auth.overloaded',
    description: 'The server is busy',
  },
} satisfies Record<RefusalCode, RefusalRow>)

/** The code of an error that an authenticator makes from a message key: the first row with it. */
const codeOfKey: Readonly<Record<string, RefusalCode>> = Object.assign(Object.create(null), {
  'auth.no-credentials-provided': 'ERR_AUTH_NO_CREDENTIALS',
  'auth.invalid-credentials': 'ERR_AUTH_INVALID_CREDENTIALS',
  'auth.jwt-invalid': 'ERR_AUTH_JWT_INVALID',
  'auth.jwt-not-valid-yet': 'ERR_AUTH_JWT_NOT_VALID_YET',
  'auth.jwt-expired': 'ERR_AUTH_JWT_EXPIRED',
  'auth.too-many-attempts': 'ERR_AUTH_TOO_MANY_ATTEMPTS',
  'auth.overloaded': 'ERR_AUTH_OVERLOADED',
} satisfies Record<MessageKey, RefusalCode>)

/**
 * The refusal of a client, thrown by authenticators (specification, "Custom authenticator" 2).
 *
 * @example
 * throw new AuthenticationError('auth.invalid-credentials') // localized
 * throw new AuthenticationError('This API key was revoked.') // sent as it is
 */
export class AuthenticationError extends Error implements AuthenticationErrorLike {
  readonly code: RefusalCode
  readonly statusCode: number
  readonly key: MessageKey | null
  readonly retryAfter?: number

  /**
   * @param keyOrText - a key of the catalogue, localized when the response is written, or the text
   * to send. Never put a token or a password in it.
   * @param options - `cause`: what led here, for the log; `retryAfter`: seconds for `Retry-After`;
   * `code`: where several refusals share one message
   */
  constructor(
    keyOrText: MessageKey | (string & {}),
    options: { cause?: unknown; retryAfter?: number; code?: RefusalCode } = {},
  ) {
    const code = options.code ?? codeOfKey[keyOrText] ?? 'ERR_AUTH_REFUSED'
    const { key, status } = refusals[code]
    super(key === null ? keyOrText : en[key], 'cause' in options ? { cause: options.cause } : {})
    this.code = code
    this.key = key
    this.statusCode = status
    if (options.retryAfter !== undefined) this.retryAfter = options.retryAfter
  }

  /** `AuthenticationError`. Errors are recognised by their `code`. */
  override get name(): string {
    return 'AuthenticationError'
  }
}

/**
 * A refusal of ours. Without a stack: what a client does wrong has no place in the code, and to capture one
 * takes longer than all the rest of a refused request.
 */
export function refusal(
  key: MessageKey,
  options?: ConstructorParameters<typeof AuthenticationError>[1],
): AuthenticationError {
  const { stackTraceLimit } = Error
  // Not an assignment, which would throw where an app has frozen the intrinsic objects.
  Reflect.set(Error, 'stackTraceLimit', 0)
  try {
    return new AuthenticationError(key, options)
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
  }
}

/** Tells a refusal from a fault: by code, since the error may come from another copy of the package. */
export function isAuthenticationError(error: unknown): error is AuthenticationErrorLike {
  // Not instanceof: neither of our class nor of Object, which another realm has its own of.
  if (typeof error !== 'object' || error === null) return false
  return refusalOf((error as { code?: unknown }).code) !== undefined
}

/** The row of a code, or undefined for what is no refusal. */
export function refusalOf(code: unknown): RefusalRow | undefined {
  return typeof code === 'string' ? refusals[code as RefusalCode] : undefined
}

/**
 * Something behind the plugin failed: a 500 (or a 503) with a neutral message. What really happened
 * is in `cause`, for the log.
 */
export class AuthenticationFault extends Error {
  readonly code: FaultCode
  readonly statusCode: number

  constructor(code: FaultCode, cause: unknown, statusCode = 500) {
    super('The request could not be authenticated because of an internal fault.', { cause })
    this.code = code
    this.statusCode = statusCode
  }

  override get name(): string {
    return 'AuthenticationFault'
  }

  get [kFault](): true {
    return true
  }
}

/** Whether an error is a fault already: by a symbol, since it may come from another copy of the package. */
export function isAuthenticationFault(error: unknown): error is AuthenticationFault {
  return (error as { [kFault]?: unknown } | null | undefined)?.[kFault] === true
}

/** The app uses the plugin wrongly. The message names what is wrong, and how to mend it. */
export class AuthnUsageError extends Error {
  readonly code: MisuseCode

  constructor(code: MisuseCode, message: string, cause?: unknown) {
    super(`fastify-authn: ${message}`, cause === undefined ? {} : { cause })
    this.code = code
  }

  override get name(): string {
    return 'AuthnUsageError'
  }
}
