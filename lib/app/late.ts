import { AuthnUsageError } from '../errors.js'
import type { MisuseCode } from '../../types/errors.js'

/** @returns the error for scopes that were made before the package was loaded */
export function lateError(): AuthnUsageError {
  return new AuthnUsageError(
    'ERR_AUTH_MARK',
    'the package was loaded after the app was made, and scopes were made in between: their marks would have no effect. Load fastify-authn before you call Fastify(), or register it before everything else.',
  )
}

/** @returns the error of a feature that needs all routes, when some were declared before the package was loaded */
export function missedError(code: MisuseCode, place: string): AuthnUsageError {
  return new AuthnUsageError(
    code,
    `${place}: the package was loaded after routes had been declared, so it does not know them all. Load fastify-authn before you call Fastify().`,
  )
}
