import bcrypt from 'bcrypt'
import type { FastifyRequest } from 'fastify'
import { AuthenticationError, AuthenticationFault } from './errors.js'
import { findUser, isUsableName } from './users.js'
import type { UserService } from '../types/user-service.js'

const bcryptHash = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/

export interface CredentialOptions {
  readonly userService: UserService
  readonly passwordField: string
  readonly maxPasswordBytes: number | false
}

/** Judges a name and a password. */
export type CheckCredentials = (
  username: string,
  password: string,
  request: FastifyRequest,
) => Promise<object>

/**
 * The one place that turns a username and a password into a user, for Basic and for login.
 *
 * @returns a function that returns the stored user
 * @throws (the function) AuthenticationError after the same bcrypt work for every reason;
 * AuthenticationFault when the user service or the password field fails
 */
export function createCredentialCheck(options: CredentialOptions): CheckCredentials {
  const { userService, passwordField, maxPasswordBytes } = options
  return async (username, password, request) => {
    if (!isUsableName(username)) throw new AuthenticationError('auth.invalid-credentials')
    const user = await findUser(userService, username, request)
    const stored = user === null ? null : storedHash(user, passwordField, request)
    const matches = await bcrypt.compare(password, stored ?? dummyHash(10))
    const fits = maxPasswordBytes === false || Buffer.byteLength(password) <= maxPasswordBytes
    if (!(matches && fits && user !== null && stored !== null)) {
      throw new AuthenticationError('auth.invalid-credentials')
    }
    return user
  }
}

/** The hash of a user; null and a warning when it is no bcrypt hash, as of an account without password. */
function storedHash(user: object, field: string, request: FastifyRequest): string | null {
  if (!(field in user)) {
    throw new AuthenticationFault(
      'ERR_AUTH_PASSWORD_FIELD',
      new TypeError(
        `The user has no field ${JSON.stringify(field)}. Return it from findByUsername, or name the field that holds the bcrypt hash in the option "passwordField".`,
      ),
    )
  }
  const hash: unknown = (user as Record<string, unknown>)[field]
  if (typeof hash === 'string' && bcryptHash.test(hash)) return hash.replace('$2y$', '$2b$')
  request.log.warn({ passwordField: field }, 'The stored password of a user is no bcrypt hash')
  return null
}

/**
 * A hash that no password has, so that an unknown user costs what a wrong password costs: bcrypt runs
 * in full before it compares.
 */
function dummyHash(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
}
