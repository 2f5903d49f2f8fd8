import type { FastifyRequest } from 'fastify'
import { isGone, ABANDONED } from './client.js'
import { AuthenticationFault, refusal } from './errors.js'
import { compare, dummyHash } from './hashing/bcrypt.js'
import { costOf, isBcryptHash } from './hashing/shape.js'
import { StoredCosts } from './hashing/costs.js'
import type { Gate } from './hashing/gate.js'
import type { CredentialMemory } from './hashing/memory.js'
import { createRehash } from './rehash.js'
import type { Throttle } from './throttle.js'
import { findUser, isUsableName } from './users.js'
import type { UserService } from '../types/user-service.js'

/** What the check of credentials works with. */
export interface CredentialTools {
  readonly userService: UserService
  readonly passwordField: string
  readonly maxPasswordBytes: number | false
  readonly userServiceTimeout: number | undefined
  /** The cost that hashes should have. */
  readonly cost: number
  readonly gate: Gate
  readonly throttle: Throttle | null
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
  const { userService, passwordField, maxPasswordBytes, throttle, memory } = tools
  const costs = StoredCosts.of(userService, tools.cost)
  const rehash = createRehash(tools)

  /** Where the memory knows the answer, nothing is awaited. */
  function judge(attempt: Attempt, user: object | null): object | Promise<object> {
    const { password, request } = attempt
    const fits = maxPasswordBytes === false || Buffer.byteLength(password) <= maxPasswordBytes
    const stored = user === null ? null : storedValue(user, passwordField)
    const remembered =
      fits && typeof stored === 'string' && memory?.knows(password, stored) === true
    if (user === null || !remembered) return compareWith(attempt, user, stored, fits)
    // Also here, or a few logins of one's own would outweigh all of these.
    costs.see(costOf(stored))
    return throttle?.mayForget(request, true) ? conclude(attempt, { user, stored }, true) : user
  }

  function compareWith(
    attempt: Attempt,
    user: object | null,
    value: unknown,
    fits: boolean,
  ): Promise<object> {
    const { username, password, request } = attempt
    const stored = user === null ? null : hashOf(value, passwordField, request)
    if (stored !== null) costs.see(costOf(stored))
    // Of each name its own, as stored hashes are: what shares a run must not tell who exists.
    const against = stored ?? dummyHash(costs.usual, username)
    const run = (): Promise<boolean> =>
      runCompare(tools, attempt, against, async (matches) => {
        if (matches && fits && stored !== null) return
        // Before the next one may run, or those that end together pass the limit together.
        attempt.isCounted = true
        await throttle?.failedHere(username, request)
      })
    // What is refused whatever bcrypt says must not be remembered: it would be refused faster then.
    const answer = memory && fits ? memory.matches(password, against, request, run) : run()
    const passable = fits && user !== null && stored !== null ? { user, stored } : null
    return conclude(attempt, passable, answer)
  }

  async function conclude(
    attempt: Attempt,
    passable: { readonly user: object; readonly stored: string } | null,
    answer: true | Promise<boolean>,
  ): Promise<object> {
    const { username, password, request } = attempt
    const remembered = answer === true
    const matches = remembered || (await answer)
    if (!matches || passable === null) {
      if (attempt.isCounted) await throttle?.failedShared(username, request)
      else await throttle?.failed(username, request)
      throw refusal('auth.invalid-credentials')
    }
    if (throttle?.mayForget(request, remembered)) {
      await throttle.succeeded(username, request, remembered)
    }
    if (!remembered) await rehash(username, password, passable.user, passable.stored, request)
    return passable.user
  }

  return (username, password, request) => {
    if (!isUsableName(username)) throw refusal('auth.invalid-credentials')
    const attempt = { username, password, request, isCounted: false }
    const find = (): object | Promise<object> =>
      findUser(userService, username, request, tools.userServiceTimeout, (user) =>
        judge(attempt, user),
      )
    const known = throttle?.check(username, request)
    return known === undefined ? find() : known.then(find)
  }
}

/** Somebody wants to be somebody. */
interface Attempt {
  readonly username: string
  readonly password: string
  readonly request: FastifyRequest
  /** Whether its failure is counted in this process. */
  isCounted: boolean
}

/** One bcrypt run behind the gate. */
async function runCompare(
  { gate, throttle }: CredentialTools,
  { username, password, request }: Attempt,
  against: string,
  ended: (matches: boolean) => Promise<void>,
): Promise<boolean> {
  await throttle?.checkShared(username, request)
  return gate.run(async (waited) => {
    // Those that waited may have failed too often meanwhile, in other requests.
    if (waited) await throttle?.check(username, request)
    if (isGone(request)) throw ABANDONED
    let matches: boolean
    try {
      matches = await compare(password, against)
    } catch (error) {
      throw new AuthenticationFault('ERR_AUTH_HASHING', error)
    }
    await ended(matches)
    return matches
  }, request)
}

/** What stands in the password field of a user. @throws AuthenticationFault when there is no such field */
function storedValue(user: object, field: string): unknown {
  if (field in user) return (user as Record<string, unknown>)[field]
  throw new AuthenticationFault(
    'ERR_AUTH_PASSWORD_FIELD',
    new TypeError(
      `The user has no field ${JSON.stringify(field)}. Return it from findByUsername, or name the field that holds the bcrypt hash in the option "passwordField".`,
    ),
  )
}

/** The hash of a user; null and a warning when it is no bcrypt hash, as of an account without password. */
function hashOf(stored: unknown, field: string, request: FastifyRequest): string | null {
  if (isBcryptHash(stored)) return stored
  request.log.warn({ passwordField: field }, 'The stored password of a user is no bcrypt hash')
  return null
}
