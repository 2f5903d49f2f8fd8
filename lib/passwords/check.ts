import type { FastifyRequest } from 'fastify'
import { isGone, ABANDONED } from '../http/disconnect.js'
import { faultOf, rejection } from '../errors/errors.js'
import { parametersOf } from './hashing.js'
import type { HashKind, StoredHash } from './kinds/hash-kind.js'
import { createRehash, type CheckTools } from './rehash.js'
import { readHash, verifyInTurn, type Hashing } from './verify.js'
import { Attempt } from '../throttle/attempt.js'
import { asUnknown, findUserOf, isUsableName, loginNameOf } from '../users/user.js'

/** A user whose password was right. */
export interface Checked {
  readonly user: object
  /** The hash that replaces that of the user, and which may not be stored yet. */
  readonly replacement: string | undefined
  /**
   * Reads the user again, since checking a password takes long.
   * @throws (rejects) ERR_AUTH_INVALID_CREDENTIALS where the user is gone, or has another password or `validAfter`
   */
  confirm(): Promise<void>
}

/**
 * Makes the function that finds the user of a username and a password, for Basic and for login. It rejects after the
 * same work, whatever is wrong with the credentials.
 *
 * @param validAfter - of a user: from when on its tokens are valid, in seconds since 1970
 * @param findFirst - finds the user whose password is checked
 */
export function createCredentialCheck(
  tools: CheckTools,
  validAfter: (user: object) => number = () => 0,
  findFirst = findUserOf,
) {
  const { passwordField, hashing, cache } = tools
  const hashOf = createHashReader(tools)
  const rehash = createRehash(tools)
  const find = (username: string, request: FastifyRequest) =>
    findUserOf(tools, username, request).catch(asUnknown(request))

  /** Compares with what was known of the user when the check began. @param replacement - the hash that replaces `stored` */
  const confirm = async (
    attempt: Attempt,
    stored: StoredHash | null,
    start: number,
    replacement: string | undefined,
  ): Promise<void> => {
    const user = await find(attempt.username, attempt.request)
    const text = (user as Record<string, unknown> | null)?.[passwordField]
    if (user !== null && stored !== null && typeof text === 'string' && validAfter(user) <= start) {
      if (text === stored.text || text === replacement) return
      // Another login, maybe of another process, may have replaced the hash.
      const { hash } = readHash(text, hashing)
      if (hash !== null && (await compareInTurn(tools, attempt, hash)) !== null) return
    }
    await attempt.commitFailure()
    throw rejection('auth.invalid-credentials', { cause: 'the user has changed meanwhile' })
  }

  return async (username: string, password: string, request: FastifyRequest): Promise<Checked> => {
    if (!isUsableName(username)) throw rejection('auth.invalid-credentials')
    const name = loginNameOf(tools.userService, username)
    const attempt = new Attempt(tools, name ?? username, password, request)
    await attempt.rejectIfThrottled()
    const user =
      name === null ? null : await findFirst(tools, name, request).catch(asUnknown(request))
    const isClosed = user !== null && tools.isClosed?.(user) === true
    const stored = user === null || isClosed ? null : hashOf(user, request)
    const start = user === null ? 0 : validAfter(user)
    const checked = (replacement?: string): Checked => ({
      user: user as object,
      replacement,
      confirm: () => confirm(attempt, stored, start, replacement),
    })
    const text = stored?.text ?? ''
    if (stored !== null && cache?.knows(attempt.username, password, text) === true) {
      await attempt.succeeded(true)
      return checked()
    }
    const run = (): Promise<string | null> => compareInTurn(tools, attempt, stored)
    const matched = await (cache === null ? run() : cache.share(attempt, text, run))
    if (matched === null || stored === null) {
      await attempt.commitFailure()
      const cause = isClosed && { cause: 'the user has a second factor, so Basic is closed' }
      throw rejection('auth.invalid-credentials', { ...cause })
    }
    await attempt.succeeded()
    return checked(await rehash(attempt, stored, matched))
  }
}

async function compareInTurn(
  { hashing }: CheckTools,
  attempt: Attempt,
  stored: StoredHash | null,
): Promise<string | null> {
  const { password, request } = attempt
  await attempt.rejectIfThrottled(true)
  return verifyInTurn(hashing, password, stored, {
    request,
    async before(waited) {
      // While this request waited, others may have failed too often.
      if (waited) await attempt.rejectIfThrottled()
      if (isGone(request)) throw ABANDONED
    },
    onWrong: () => attempt.countInAdvance(),
  })
}

export function noPasswordField(field: string): Error {
  const text = `The user has no field ${JSON.stringify(field)}. Return it from findByUsername, with null for none, or name the field that holds the password hash in the option "passwordField".`
  return faultOf('ERR_AUTH_PASSWORD_FIELD', new TypeError(text))
}

function createHashReader({ passwordField, hashing }: CheckTools) {
  const { maxCost, maxMemory } = hashing
  const warned = new Set<HashKind>()
  return (user: object, { log }: FastifyRequest): StoredHash | null => {
    if (!(passwordField in user)) throw noPasswordField(passwordField)
    const value = (user as Record<string, unknown>)[passwordField]
    // A user with null has no password and logs in otherwise.
    if (value === null) return null
    const read = readHash(value, hashing)
    if (read.hash === null) {
      const about = { passwordField, maxCost, maxMemory }
      log.warn(about, `The stored password hash of a user cannot be used: ${read.reason}`)
      return null
    }
    const { kind, strength } = read.hash
    const problem = timeProblemOf(read.hash, hashing)
    if (problem !== null && !warned.has(kind)) {
      warned.add(kind)
      log.warn({ passwordField, ...(strength.cost > 0 && { cost: strength.cost }) }, problem)
    }
    return read.hash
  }
}

/** The warning about a hash that makes rejections slower than those of unknown names; null for any other hash. */
function timeProblemOf({ kind, strength }: StoredHash, { profiles }: Hashing): string | null {
  const profile = profiles.find((each) => each.kind === kind)
  if (profile && kind.work(strength) <= kind.work(profile.strength)) return null
  const numbers = parametersOf(strength).map(([name, value]) => `, ${name}: ${value}`)
  const entry = `{ algorithm: '${kind.name}'${numbers.join('')} }`
  const remedy =
    profile === profiles[0]
      ? `Raise "hashing" to ${entry}`
      : `Put ${entry} into "hashing.migrateFrom" until no user has such a hash`
  return `A stored password hash is ${profile ? `stronger than those of "hashing"` : `of another algorithm than "hashing"`}, so that unknown usernames are rejected faster than its user. ${remedy}. This is logged once`
}
