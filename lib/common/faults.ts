import { isError } from './objects.js'
import type { FaultCode, MisuseCode } from '../../types/errors.js'

const neutralMessage = 'The request could not be authenticated because of an internal fault.'

/**
 * The server failed, not the client, for example the user service threw. The client gets a 500 with a neutral
 * message; the real error is the `cause`, for the log.
 */
export class AuthenticationFault extends Error {
  readonly code: FaultCode
  readonly statusCode: number

  /** @param message - for the client: it says nothing of users, of credentials, or of what stands behind the app */
  constructor(code: FaultCode, cause: unknown, statusCode = 500, message = neutralMessage) {
    super(message, { cause })
    this.code = code
    this.statusCode = statusCode
  }

  override get name(): string {
    return 'AuthenticationFault'
  }
}

/** Wraps an error in a fault with a neutral message. An error that is a fault already is returned as it is. */
export function faultOf(code: FaultCode, error: unknown): Error {
  return isAuthenticationFault(error) ? error : new AuthenticationFault(code, error)
}

const faultCodes: ReadonlySet<unknown> = new Set(
  Object.keys({
    ERR_AUTH_USER_SERVICE: true,
    ERR_AUTH_PASSWORD_FIELD: true,
    ERR_AUTH_AUTHENTICATOR: true,
    ERR_AUTH_ACCESS: true,
    ERR_AUTH_ON_UNAUTHORIZED: true,
    ERR_AUTH_TOKEN_FUNC: true,
    ERR_AUTH_COOKIE: true,
    ERR_AUTH_HASHING: true,
    ERR_AUTH_UNGUARDED: true,
  } satisfies Record<FaultCode, true>),
)

/**
 * Whether an error is a fault, by its code and its message. The message is compared because clients see it:
 * an error of the app with one of these codes could have any message.
 */
export function isAuthenticationFault(error: unknown): error is AuthenticationFault {
  return (
    isError(error) &&
    faultCodes.has((error as { code?: unknown }).code) &&
    error.message === neutralMessage
  )
}

/** The app uses the plugin wrongly. The message says what is wrong and how to mend it. */
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

const misuseCodes: ReadonlySet<unknown> = new Set(
  Object.keys({
    ERR_AUTH_OPTION: true,
    ERR_AUTH_MARK: true,
    ERR_AUTH_KEY: true,
    ERR_AUTH_DECORATOR: true,
    ERR_AUTH_CLAIMS: true,
    ERR_AUTH_CONTEXT: true,
    ERR_AUTH_AUDIT: true,
    ERR_AUTH_REPORT: true,
    ERR_AUTH_TESTING: true,
  } satisfies Record<MisuseCode, true>),
)

/** Whether an error is a misuse, by its code. */
export function isUsageError(error: unknown): error is AuthnUsageError {
  return isError(error) && misuseCodes.has((error as { code?: unknown }).code)
}

/** Stops the boot because of an option. @throws ERR_AUTH_OPTION */
export function wrongOption(message: string, cause?: unknown): never {
  throw new AuthnUsageError('ERR_AUTH_OPTION', message, cause)
}

/** Stops the boot because of a mark. @throws ERR_AUTH_MARK */
export function wrongMark(message: string): never {
  throw new AuthnUsageError('ERR_AUTH_MARK', message)
}
