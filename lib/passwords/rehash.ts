import { costOf, hash, longestPassword } from './bcrypt.js'
import type { HashingQueue } from './queue.js'
import type { PasswordAttempt } from '../throttle/attempt.js'
import { findUser } from '../users/user.js'
import type { UserService } from '../../types/user-service.js'

export interface RehashTools {
  readonly userService: UserService
  readonly passwordField: string
  readonly userServiceTimeout: number | undefined
  /** The cost that hashes should have. */
  readonly cost: number
  readonly queue: HashingQueue
}

/**
 * Replaces hashes of a lower cost than the configured one after a success, where the user service takes new
 * ones: once at a time for a user, only while no hashing waits, and never at the cost of the login.
 */
export function createRehash(tools: RehashTools) {
  const { userService, passwordField, userServiceTimeout, cost, queue } = tools
  /** Stored hashes for which a new one is under way. */
  const running = new Set<string>()
  return async (attempt: PasswordAttempt, stored: string): Promise<void> => {
    const { username, password, request } = attempt
    const isOutdated = userService.updatePasswordHash !== undefined && costOf(stored) < cost
    // bcrypt would ignore the end of a longer password, and the new hash would accept the beginning alone.
    const fits = Buffer.byteLength(password) <= longestPassword
    if (!isOutdated || !fits || running.has(stored) || !queue.isIdle) return
    running.add(stored)
    // Reads the user again: meanwhile the password may have changed, and the new hash would bring the old one back.
    const store = (fresh: string): unknown =>
      findUser(userService, username, request, userServiceTimeout, (user) => {
        const current = user as Record<string, unknown> | null
        if (current?.[passwordField] !== stored) return null
        return userService.updatePasswordHash?.(current, fresh, stored)
      })
    const report = (error: unknown): void =>
      request.log.error({ err: error }, 'The new password hash of a user was not stored')
    const hashed = queue.run(() => hash(password, cost))
    void hashed
      .then(store)
      .catch(report)
      .finally(() => running.delete(stored))
    // The login waits for the hash, but not for the service to store it.
    await hashed.catch(() => undefined)
  }
}
