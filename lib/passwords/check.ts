import type { FastifyRequest } from 'fastify'
import { isGone, ABANDONED } from '../http/disconnect.js'
import { faultOf, refusal } from '../errors.js'
import { compare, dummyHash, makeUp } from './bcrypt.js'
import { costOf } from '../common/hash-format.js'
import type { Gate } from './gate.js'
import type { CredentialMemory } from './remembered.js'
import { createRehash } from './rehash.js'
import { createHashReader, storedValue } from './stored-hash.js'
import { PasswordAttempt, type AttemptTools } from '../throttle/attempt.js'
import { findUser, isUsableName } from '../users/find.js'
import type { UserService } from '../../types/user-service.js'

/** What the check of a password needs. */
export interface CredentialTools extends AttemptTools {
  readonly userService: UserService
  readonly passwordField: string
  readonly maxPasswordBytes: number | false
  readonly userServiceTimeout: number | undefined
  /** The cost that hashes should have. */
  readonly cost: number
  /** The highest cost that a stored hash may have. */
  readonly maxCost: number
  readonly gate: Gate
  /** Only for Basic, which sends the password with every request. */
  readonly memory: CredentialMemory | null
}

/** Judges a name and a password. */
export type CheckCredentials = (
  username: string,
  password: string,
  request: FastifyRequest,
) => object | Promise<object>

/**
 * The one place that turns a username and a password into a user, for Basic and for login.
 *
 * @returns a function that returns the stored user, or a promise of it where something has to be awaited
 * @throws (the function) AuthenticationError, for wrong credentials after the same bcrypt work whatever
 * is wrong with them; AuthenticationFault when the user service or the password field fails; ABANDONED
 * when the client goes away
 */
export function createCredentialCheck(tools: CredentialTools): CheckCredentials {
  const { userService, passwordField, maxPasswordBytes, memory } = tools
  const hashOf = createHashReader(tools)
  const rehash = createRehash(tools)

  /** Synchronous when the credentials are remembered. */
  function judge(attempt: PasswordAttempt, user: object | null): object | Promise<object> {
    const { username, password } = attempt
    const fits = maxPasswordBytes === false || Buffer.byteLength(password) <= maxPasswordBytes
    const stored = user === null ? null : storedValue(user, passwordField)
    const remembered =
      fits && typeof stored === 'string' && memory?.knows(username, password, stored) === true
    if (user === null || !remembered) return compareWith(attempt, user, stored, fits)
    const forgotten = attempt.succeeded(true)
    return forgotten === undefined ? user : forgotten.then(() => user)
  }

  function compareWith(
    attempt: PasswordAttempt,
    user: object | null,
    value: unknown,
    fits: boolean,
  ): Promise<object> {
    const { username, request } = attempt
    const stored = user === null ? null : hashOf(value, request)
    const against = stored ?? dummyHash(tools.cost, username)
    const run = (): Promise<boolean> =>
      runCompare(tools, attempt, against, (matches) => {
        if (matches && fits && stored !== null) return true
        // Counted before the next comparison starts: otherwise simultaneous guesses would pass the limit.
        void attempt.failed()
        return false
      })
    // Unknown users and passwords that are too long are refused in any case. Their result must not be remembered:
    // a second refusal would be faster than the first.
    const answer = memory && fits ? memory.matches(attempt, against, run) : run()
    const passable = fits && user !== null && stored !== null ? { user, stored } : null
    return conclude(attempt, passable, answer)
  }

  async function conclude(
    attempt: PasswordAttempt,
    passable: { readonly user: object; readonly stored: string } | null,
    answer: true | Promise<boolean>,
  ): Promise<object> {
    const { username, password, request } = attempt
    const remembered = answer === true
    const matches = remembered || (await answer)
    if (!matches || passable === null) {
      await attempt.failed()
      throw refusal('auth.invalid-credentials')
    }
    await attempt.succeeded(remembered)
    if (!remembered) await rehash(username, password, passable.stored, request)
    return passable.user
  }

  return (username, password, request) => {
    if (!isUsableName(username)) throw refusal('auth.invalid-credentials')
    const attempt = new PasswordAttempt(tools, username, password, request)
    const find = (): object | Promise<object> =>
      findUser(userService, username, request, tools.userServiceTimeout, (user) =>
        judge(attempt, user),
      )
    const known = attempt.begin()
    return known === undefined ? find() : known.then(find)
  }
}

/**
 * Runs one comparison behind the gate. A refusal always takes the work of `cost`, even if the stored hash has a lower
 * cost or the client has disconnected: its time must not tell which usernames exist.
 *
 * @param passes - decides by the answer of bcrypt whether the attempt succeeds
 */
async function runCompare(
  { gate, cost }: CredentialTools,
  attempt: PasswordAttempt,
  against: string,
  passes: (matches: boolean) => boolean,
): Promise<boolean> {
  const { username, password, request } = attempt
  await attempt.begin(true)
  return gate.run(async (waited) => {
    // While this request waited, others may have failed too often.
    if (waited) await attempt.begin()
    if (isGone(request)) throw ABANDONED
    const fault = (error: unknown): never => {
      throw faultOf('ERR_AUTH_HASHING', error)
    }
    const matches = await compare(password, against).catch(fault)
    if (passes(matches)) return true
    await makeUp(password, costOf(against), cost, username).catch(fault)
    return false
  }, request)
}
