import type { FastifyRequest } from 'fastify'
import { isGone, ABANDONED } from '../http/disconnect.js'
import { faultOf, refusal } from '../errors/errors.js'
import { isBcryptHash, compare, costOf, dummyHash, padToCost } from './bcrypt.js'
import type { CheckTools } from './check-tools.js'
import { createRehash, isOutdated } from './rehash.js'
import { PasswordAttempt } from './attempt.js'
import { findUser, isUsableName } from '../users/user.js'

/** A user whose password was right. */
export interface Checked {
  readonly user: object
  /**
   * Reads the user again, since checking a password takes long.
   *
   * @throws (rejects) ERR_AUTH_INVALID_CREDENTIALS where the user is gone, or has another password or a later
   * `validAfter` than when the check began; what the check throws
   */
  confirm(): Promise<void>
}

/**
 * Makes the function that finds the user of a username and a password, for Basic and for login. It rejects with an
 * AuthenticationError after the same bcrypt work, whatever is wrong with the credentials; with an AuthenticationFault
 * when the user service or the password field fails; with ABANDONED when the client has disconnected.
 *
 * @param validAfter - of a user: from when on its tokens are valid, in seconds since 1970
 */
export function createCredentialCheck(
  tools: CheckTools,
  validAfter: (user: object) => number = () => 0,
) {
  const { userService, passwordField, maxPasswordBytes, cache } = tools
  const hashOf = createHashReader(tools)
  const rehash = createRehash(tools)
  const find = (username: string, request: FastifyRequest) =>
    findUser(userService, username, request, tools.userServiceTimeout)

  /** Compares with what was known of the user when the check began. @param replacement - the hash that replaces `stored` */
  const confirm = async (
    attempt: PasswordAttempt,
    stored: string,
    start: number,
    replacement: string | undefined,
  ): Promise<void> => {
    const user = await find(attempt.username, attempt.request)
    const hash = (user as Record<string, unknown> | null)?.[passwordField]
    if (user !== null && isBcryptHash(hash) && validAfter(user) <= start) {
      if (hash === stored || hash === replacement) return
      // Another login, maybe of another process, may have replaced a hash of a lower cost.
      const mayBeSame = isOutdated(tools, stored) && costOf(hash) <= tools.maxCost
      if (mayBeSame && (await compareInQueue(tools, attempt, hash))) return
    }
    await attempt.commitFailure()
    throw refusal('auth.invalid-credentials', { cause: 'the user has changed meanwhile' })
  }

  return async (username: string, password: string, request: FastifyRequest): Promise<Checked> => {
    if (!isUsableName(username)) throw refusal('auth.invalid-credentials')
    const attempt = new PasswordAttempt(tools, username, password, request)
    await attempt.refuseIfThrottled()
    const user = await find(username, request)
    const hash = user === null ? null : hashOf(user, request)
    const start = user === null ? 0 : validAfter(user)
    const fits = maxPasswordBytes === false || Buffer.byteLength(password) <= maxPasswordBytes
    const stored = fits ? hash : null
    const checked = (replacement?: string): Checked => ({
      user: user as object,
      confirm: () => confirm(attempt, String(stored), start, replacement),
    })
    if (user !== null && stored !== null && cache?.knows(username, password, stored) === true) {
      await attempt.succeeded(true)
      return checked()
    }
    const against = stored ?? dummyHash(tools.cost, username)
    const run = (): Promise<boolean> => compareInQueue(tools, attempt, against)
    const matches = await (cache === null ? run() : cache.share(attempt, against, run))
    if (!matches || user === null || stored === null) {
      await attempt.commitFailure()
      throw refusal('auth.invalid-credentials')
    }
    await attempt.succeeded()
    return checked(await rehash(attempt, stored))
  }
}

/**
 * Compares in turn. A rejection always takes the work of `cost`, even if the stored hash has a lower cost or the client
 * disconnects meanwhile: its time must not tell which usernames exist.
 */
async function compareInQueue(
  { queue, cost }: CheckTools,
  attempt: PasswordAttempt,
  against: string,
): Promise<boolean> {
  const { password, request } = attempt
  await attempt.refuseIfThrottled(true)
  return queue.run(async (waited) => {
    // While this request waited, others may have failed too often.
    if (waited) await attempt.refuseIfThrottled()
    if (isGone(request)) throw ABANDONED
    try {
      if (await compare(password, against)) return true
      attempt.countInAdvance()
      await padToCost(password, costOf(against), cost)
      return false
    } catch (error) {
      throw faultOf('ERR_AUTH_HASHING', error)
    }
  }, request)
}

/** Makes the function that reads the hash of a user: null, with a warning, for a malformed one or too high a cost. */
function createHashReader({ passwordField, cost: wanted, maxCost }: CheckTools) {
  let isWarned = false
  return (user: object, { log }: FastifyRequest): string | null => {
    if (!(passwordField in user)) {
      const text = `The user has no field ${JSON.stringify(passwordField)}. Return it from findByUsername, or name the field that holds the bcrypt hash in the option "passwordField".`
      throw faultOf('ERR_AUTH_PASSWORD_FIELD', new TypeError(text))
    }
    const value = (user as Record<string, unknown>)[passwordField]
    // Of a user who logs in otherwise.
    if (value === null) return null
    if (!isBcryptHash(value)) {
      log.warn({ passwordField }, 'The stored password of a user is not a bcrypt hash')
      return null
    }
    const about = { passwordField, cost: costOf(value), maxCost }
    if (about.cost > maxCost) {
      log.warn(about, 'A stored password hash was rejected: its cost is above "hashing.maxCost"')
      return null
    }
    if (about.cost > wanted && !isWarned) {
      isWarned = true
      log.warn(
        about,
        'A stored password hash has a higher cost than "hashing.cost": until that is raised, unknown usernames are rejected faster than known ones. This is logged once',
      )
    }
    return value
  }
}
