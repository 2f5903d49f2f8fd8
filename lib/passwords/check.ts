import type { FastifyRequest } from 'fastify'
import { isGone, ABANDONED } from '../http/disconnect.js'
import { faultOf, refusal } from '../errors.js'
import { compare, dummyHash, makeUp } from './bcrypt.js'
import { costOf } from '../common/hash-format.js'
import type { CredentialMemory } from './remembered.js'
import { createRehash, type RehashTools } from './rehash.js'
import { createHashReader, storedValue, type HashLimits } from './stored-hash.js'
import { PasswordAttempt, type AttemptTools } from '../throttle/attempt.js'
import { findUser, isUsableName } from '../users/find.js'

/** What the check of a password needs. */
export interface CredentialTools extends AttemptTools, HashLimits, RehashTools {
  readonly maxPasswordBytes: number | false
  /** Only for Basic, which sends the password with every request. */
  readonly memory: CredentialMemory | null
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
 * @throws (the function rejects) AuthenticationError, for wrong credentials after the same bcrypt work whatever is wrong
 * with them; AuthenticationFault when the user service or the password field fails; ABANDONED when the client goes away
 */
export function createCredentialCheck(tools: CredentialTools): CheckCredentials {
  const { userService, passwordField, maxPasswordBytes, memory } = tools
  const hashOf = createHashReader(tools)
  const rehash = createRehash(tools)

  return async (username, password, request) => {
    if (!isUsableName(username)) throw refusal('auth.invalid-credentials')
    const attempt = new PasswordAttempt(tools, username, password, request)
    const refused = attempt.begin()
    if (refused !== undefined) await refused
    const user = await findUser(userService, username, request, tools.userServiceTimeout)
    const value = user === null ? null : storedValue(user, passwordField)
    const fits = maxPasswordBytes === false || Buffer.byteLength(password) <= maxPasswordBytes
    if (user !== null && fits && typeof value === 'string') {
      if (memory?.knows(username, password, value) === true) {
        const forgotten = attempt.succeeded(true)
        if (forgotten !== undefined) await forgotten
        return user
      }
    }
    const stored = user === null ? null : hashOf(value, request)
    const against = stored ?? dummyHash(tools.cost, username)
    const run = (): Promise<boolean> => runCompare(tools, attempt, against, fits && stored !== null)
    const matches = await (memory !== null && fits ? memory.share(attempt, against, run) : run())
    if (!matches || user === null || stored === null) {
      await attempt.failed()
      throw refusal('auth.invalid-credentials')
    }
    await attempt.succeeded()
    await rehash(username, password, stored, request)
    return user
  }
}

/**
 * Runs one comparison behind the gate. A refusal always takes the work of `cost`, even if the stored hash has a lower
 * cost or the client has disconnected: its time must not tell which usernames exist.
 *
 * @param mayPass - false for an unknown user and for a password that is too long: they are refused whatever bcrypt says
 */
async function runCompare(
  { gate, cost }: CredentialTools,
  attempt: PasswordAttempt,
  against: string,
  mayPass: boolean,
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
    if (matches && mayPass) return true
    // Counted before the next comparison starts: otherwise simultaneous guesses would pass the limit.
    void attempt.failed()
    await makeUp(password, costOf(against), cost, username).catch(fault)
    return false
  }, request)
}
