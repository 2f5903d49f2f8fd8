import type { AuthenticationErrorLike, FaultCode, RefusalCode } from '../types/errors.js'
import type { MessageKey } from '../types/messages.js'
import { en } from '../locales/en.js'
import { faultOf } from './common/faults.js'
import { codeOfKey, refusalOf, type RefusalRow } from './common/refusals.js'

export {
  AuthenticationFault,
  AuthnUsageError,
  faultOf,
  isAuthenticationFault,
  isUsageError,
  wrongMark,
  wrongOption,
} from './common/faults.js'

/**
 * Thrown by an authenticator to reject a request: a 401, or a 429 or 503 when the client has to wait.
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
   * @param keyOrText - a message key, sent in the language of the request; or the text to send as it is.
   * Never put a token or a password in it.
   * @param options - `cause`: the reason, which is logged when it is a string; `retryAfter`: seconds for
   * the header `Retry-After`; `code`: default is the code of the key, else `ERR_AUTH_REFUSED`
   */
  constructor(
    keyOrText: MessageKey | (string & {}),
    options: { cause?: unknown; retryAfter?: number; code?: RefusalCode } = {},
  ) {
    const code = options.code ?? codeOfKey(keyOrText) ?? 'ERR_AUTH_REFUSED'
    const { key, status } = refusalOf(code) as RefusalRow
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
 * Makes an AuthenticationError without a stack trace, which would cost a third of the CPU time of a rejected request
 * (measured over HTTP on Node 24: 29 and 20 µs without a header, 26 and 19 µs with an expired token).
 */
export function refusal(
  key: MessageKey,
  options?: ConstructorParameters<typeof AuthenticationError>[1],
): AuthenticationError {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return new AuthenticationError(key, options)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Whether an error is an AuthenticationError, by its code: it may come from another copy of the package. */
export function isAuthenticationError(error: unknown): error is AuthenticationErrorLike {
  return refusalOf((error as { code?: unknown } | null | undefined)?.code) !== undefined
}

/** An AuthenticationError stays as it is; anything else that the app throws is an internal error. */
export function refusalOrFault(code: FaultCode, error: unknown): unknown {
  return isAuthenticationError(error) ? error : faultOf(code, error)
}
