import type { FastifyRequest } from 'fastify'
import { hash, longestPassword } from './hashing/bcrypt.js'
import { costOf } from './hashing/shape.js'
import type { Gate } from './hashing/gate.js'
import type { UserService } from '../types/user-service.js'

/** What the replacing of hashes works with. */
export interface RehashTools {
  readonly userService: UserService
  /** The cost that hashes should have. */
  readonly cost: number
  readonly gate: Gate
}

/** Replaces the hash of a user who has proved the password. */
export type Rehash = (
  username: string,
  password: string,
  user: object,
  stored: string,
  request: FastifyRequest,
) => Promise<void>

/**
 * Replaces hashes of a lower cost than the configured one after a success, where the user service takes new
 * ones: once at a time for a user, only while no hashing waits, and never at the cost of the login.
 */
export function createRehash({ userService, cost, gate }: RehashTools): Rehash {
  const running = new Set<string>()
  return async (username, password, user, stored, request) => {
    const outdated = userService.updatePasswordHash !== undefined && costOf(stored) < cost
    // A longer one would be cut, for good.
    const fits = Buffer.byteLength(password) <= longestPassword
    if (!outdated || !fits || running.has(username) || !gate.isIdle) return
    running.add(username)
    const report = (error: unknown): void =>
      request.log.error({ err: error }, 'The new password hash of a user was not stored')
    try {
      const fresh = await gate.run(() => hash(password, cost))
      // Not awaited: the login does not depend on how long the service takes to store it.
      Promise.resolve(userService.updatePasswordHash?.(user as never, fresh))
        .catch(report)
        .finally(() => running.delete(username))
    } catch (error) {
      running.delete(username)
      report(error)
    }
  }
}
