import { costOf, hash, longestPassword } from './bcrypt.js'
import type { CheckTools } from './check-tools.js'
import type { PasswordAttempt } from './attempt.js'
import { findUser } from '../users/user.js'

/** Whether a stored hash is replaced after a login. */
export function isOutdated({ userService, cost }: CheckTools, stored: string): boolean {
  return userService.updatePasswordHash !== undefined && costOf(stored) < cost
}

/**
 * Makes the function that replaces hashes of a lower cost after a login, where the user service stores new ones: one at
 * a time for a user, and only while no hashing waits. The login succeeds even if that fails.
 */
export function createRehash(tools: CheckTools) {
  const { userService, passwordField, userServiceTimeout, cost, queue } = tools
  /** Stored hashes for which a new one is under way. */
  const running = new Set<string>()
  /** @returns the new hash, which may not be stored yet; undefined where there is none */
  return async (attempt: PasswordAttempt, stored: string): Promise<string | undefined> => {
    const { username, password, request } = attempt
    // bcrypt ignores the end of a longer password, so the new hash would match the beginning alone.
    const fits = Buffer.byteLength(password) <= longestPassword
    if (!isOutdated(tools, stored) || !fits || running.has(stored) || !queue.isIdle)
      return undefined
    running.add(stored)
    // The user is read again: the password may have changed meanwhile, and the new hash would bring the old one back.
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
    return hashed.catch(() => undefined)
  }
}
