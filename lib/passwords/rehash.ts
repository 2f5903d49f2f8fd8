import { channelOf } from '../events.js'
import type { CredentialCache } from './credential-cache.js'
import type { StoredHash } from './kinds/hash-kind.js'
import { nfcOf } from './nfc.js'
import { hashInTurn, isOutdated, longestOf, type Hashing } from './verify.js'
import type { Attempt } from '../throttle/attempt.js'
import type { Throttle } from '../throttle/throttle.js'
import { findUser } from '../users/user.js'
import { viewOf } from '../users/view.js'
import type { UserService } from '../../types/user-service.js'

export interface CheckTools {
  readonly userService: UserService
  readonly passwordField: string
  readonly userServiceTimeout: number | undefined
  readonly hashing: Hashing
  readonly throttle: Throttle | null
  readonly registration?: string
  /** Only for Basic, which sends the password with every request. */
  readonly cache: CredentialCache | null
  /** Only for Basic: whether a user has a second factor, which a password alone must not go around. */
  isClosed?(user: object): boolean
}

/**
 * Makes the function that replaces weaker hashes after a login, and those that are not of the NFC, where the user service
 * stores new ones: one at a time for a user, and only while no hashing waits. The login succeeds even if that fails.
 */
export function createRehash(tools: CheckTools) {
  const { userService, passwordField, userServiceTimeout, hashing, registration = '' } = tools
  const { wanted, queue } = hashing
  const running = new Set<string>()
  const isPossible = (matched: string, stored: StoredHash): boolean => {
    // bcrypt ignores the end of a longer password, so the new hash would match the beginning alone, or more than it did.
    if (Buffer.byteLength(matched) > stored.kind.longest) return false
    const fits = Buffer.byteLength(nfcOf(matched)) <= longestOf(hashing)
    return fits && !running.has(stored.text) && queue.isIdle(wanted.kind.memory(wanted.strength))
  }
  /** @returns the new hash, which may not be stored yet; undefined where there is none */
  return async ({ username, request }: Attempt, stored: StoredHash, matched: string) => {
    const update = userService.updatePasswordHash?.bind(userService)
    const isWanted = matched === nfcOf(matched) && !isOutdated(wanted, stored)
    if (update === undefined || isWanted || !isPossible(matched, stored)) return undefined
    running.add(stored.text)
    // The user is read again: the password may have changed meanwhile, and the new hash would bring the old one back.
    const store = (fresh: string): unknown =>
      findUser(userService, username, request, userServiceTimeout, async (user) => {
        const current = user as Record<string, unknown> | null
        if (current?.[passwordField] !== stored.text) return
        await update(current, fresh, stored.text)
        queue.stats.replaced += 1
        const shown = viewOf(current, new Set([passwordField]))
        const kinds = { from: stored.name, to: wanted.kind.name }
        const event = { request, registration, user: shown, ...kinds }
        if (channelOf('rehash').hasSubscribers) channelOf('rehash').publish(event)
      })
    const report = (error: unknown): void =>
      request.log.error({ err: error }, 'The new password hash of a user was not stored')
    const hashed = hashInTurn(hashing, matched, Infinity)
    void hashed
      .then(store)
      .catch(report)
      .finally(() => running.delete(stored.text))
    // The login waits for the hash, but not for the service to store it.
    return hashed.catch(() => undefined)
  }
}
