import type { FastifyRequest } from 'fastify'
import { hash, longestPassword } from './bcrypt.js'
import { costOf } from '../common/hash-format.js'
import type { Gate } from './gate.js'
import { findUser } from '../users/find.js'
import type { UserService } from '../../types/user-service.js'

/** What is needed to replace hashes. */
export interface RehashTools {
  readonly userService: UserService
  readonly passwordField: string
  readonly userServiceTimeout: number | undefined
  /** The cost that hashes should have. */
  readonly cost: number
  readonly gate: Gate
}

/** Replaces the hash of a user who has proved the password. */
export type Rehash = (
  username: string,
  password: string,
  stored: string,
  request: FastifyRequest,
) => Promise<void>

/**
 * Replaces hashes of a lower cost than the configured one after a success, where the user service takes new
 * ones: once at a time for a user, only while no hashing waits, and never at the cost of the login.
 */
export function createRehash(tools: RehashTools): Rehash {
  const { userService, cost, gate } = tools
  /** Stored hashes for which a new one is under way. */
  const running = new Set<string>()
  return async (username, password, stored, request) => {
    const outdated = userService.updatePasswordHash !== undefined && costOf(stored) < cost
    // bcrypt would ignore the end of a longer password, and the new hash would accept the beginning alone.
    const fits = Buffer.byteLength(password) <= longestPassword
    if (!outdated || !fits || running.has(stored) || !gate.isIdle) return
    running.add(stored)
    const report = (error: unknown): void =>
      request.log.error({ err: error }, 'The new password hash of a user was not stored')
    try {
      const fresh = await gate.run(() => hash(password, cost))
      // Not awaited: the login does not depend on how long the service takes to store it.
      store(tools, username, fresh, stored, request)
        .catch(report)
        .finally(() => running.delete(stored))
    } catch (error) {
      running.delete(stored)
      report(error)
    }
  }
}

/**
 * Has a new hash stored for a user who still has the previous one. The user is read again for that: meanwhile
 * the password may have been changed, and the new hash would bring the old password back.
 */
async function store(
  { userService, passwordField, userServiceTimeout }: RehashTools,
  username: string,
  fresh: string,
  previous: string,
  request: FastifyRequest,
): Promise<void> {
  await findUser(userService, username, request, userServiceTimeout, (user) => {
    const current = user as Record<string, unknown> | null
    if (current?.[passwordField] !== previous) return null
    return userService.updatePasswordHash?.(current, fresh, previous)
  })
}
