import { AuthnUsageError } from '../errors/errors.js'

/** @throws ERR_AUTH_TESTING */
export function misuse(message: string): never {
  throw new AuthnUsageError('ERR_AUTH_TESTING', message)
}
