import type { FaultCode, MisuseCode } from '../../types/errors.js'

const neutralMessage = 'The request could not be authenticated because of an internal error.'

/**
 * The server failed, not the client, for example the user service threw. The client gets a 500 with a neutral
 * message; the real error is the `cause`, for the log.
 */
export class AuthenticationFault extends Error {
  readonly code: FaultCode
  readonly statusCode: number

  /** @param message - for the client, so without users, credentials and internals of the app */
  constructor(code: FaultCode, cause: unknown, statusCode = 500, message = neutralMessage) {
    super(message, { cause })
    this.code = code
    this.statusCode = statusCode
  }

  override get name(): string {
    return 'AuthenticationFault'
  }
}

/** Wraps an error, unless it is an AuthenticationFault already. */
export function faultOf(code: FaultCode, error: unknown): Error {
  return isAuthenticationFault(error) ? error : new AuthenticationFault(code, error)
}

/**
 * Whether an error is an AuthenticationFault, by its code and its message. Clients see the message, and an error of the app with one
 * of these codes could have any.
 */
export function isAuthenticationFault(error: unknown): error is AuthenticationFault {
  return hasOurCode(error) && error.message === neutralMessage
}

function hasOurCode(error: unknown): error is Error {
  return (
    error instanceof Error && String((error as { code?: unknown }).code).startsWith('ERR_AUTH_')
  )
}

/** The app uses the plugin wrongly. The message says what is wrong and how to fix it. */
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

/** Errors that answer a request have our codes too, and a status. */
export function isUsageError(error: unknown): error is AuthnUsageError {
  return hasOurCode(error) && !('statusCode' in error)
}

/** Makes startup fail because of an option. @throws ERR_AUTH_OPTION */
export function wrongOption(message: string, cause?: unknown): never {
  throw new AuthnUsageError('ERR_AUTH_OPTION', message, cause)
}

/** Makes startup fail because of a mark. @throws ERR_AUTH_MARK */
export function wrongMark(message: string): never {
  throw new AuthnUsageError('ERR_AUTH_MARK', message)
}
