import type { FastifyRequest } from 'fastify'
import { faultOf } from '../errors.js'
import { costOf, isBcryptHash } from '../common/hash-format.js'

/** Which stored hashes are compared with a password. */
export interface HashLimits {
  readonly passwordField: string
  /** The cost that hashes should have. */
  readonly cost: number
  /** The highest cost that a stored hash may have. */
  readonly maxCost: number
}

/**
 * Returns the value of the password field of a user.
 *
 * @throws AuthenticationFault when there is no such field
 */
export function storedValue(user: object, field: string): unknown {
  if (field in user) return (user as Record<string, unknown>)[field]
  throw faultOf(
    'ERR_AUTH_PASSWORD_FIELD',
    new TypeError(
      `The user has no field ${JSON.stringify(field)}. Return it from findByUsername, or name the field that holds the bcrypt hash in the option "passwordField".`,
    ),
  )
}

/**
 * Makes a function that returns the value of a password field when a password may be compared with it, and
 * null with a warning when not: it is no bcrypt hash, as in an account without a password, or its cost is so
 * high that a few requests would keep all cores busy.
 */
export function createHashReader({
  passwordField,
  cost,
  maxCost,
}: HashLimits): (value: unknown, request: FastifyRequest) => string | null {
  let isWarned = false
  return (value, { log }) => {
    if (!isBcryptHash(value)) {
      log.warn({ passwordField }, 'The stored password of a user is no bcrypt hash')
      return null
    }
    const found = costOf(value)
    if (found > maxCost) {
      log.warn(
        { passwordField, cost: found, maxCost },
        'The stored password hash of a user is not used: its cost is above the option "hashing.maxCost"',
      )
      return null
    }
    if (found > cost && !isWarned) {
      isWarned = true
      log.warn(
        { passwordField, cost: found },
        'A stored password hash has a higher cost than the option "hashing.cost": until that is raised, unknown usernames are refused faster than known ones. This is said once',
      )
    }
    return value
  }
}
