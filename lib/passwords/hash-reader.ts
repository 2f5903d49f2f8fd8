import type { FastifyRequest } from 'fastify'
import { faultOf } from '../errors/errors.js'
import type { CheckTools } from './check-tools.js'
import { isOurs } from './hashing.js'
import type { HashKind, StoredHash } from './kinds/hash-kind.js'
import { readHash } from './verify.js'

/** Makes the function that reads the hash of a user: null, with a warning, for what is no hash or above a ceiling. */
export function createHashReader({ passwordField, hashing }: CheckTools) {
  const { maxCost, maxMemory } = hashing
  const warned = new Set<HashKind>()
  const warnOnce = (hash: StoredHash, { log }: FastifyRequest): void => {
    const problem = timeProblemOf(hash, hashing)
    if (problem === null || warned.has(hash.kind)) return
    warned.add(hash.kind)
    const { cost } = hash.strength
    log.warn({ passwordField, ...(cost > 0 && { cost }) }, problem)
  }
  return (user: object, request: FastifyRequest): StoredHash | null => {
    if (!(passwordField in user)) {
      const text = `The user has no field ${JSON.stringify(passwordField)}. Return it from findByUsername, or name the field that holds the password hash in the option "passwordField".`
      throw faultOf('ERR_AUTH_PASSWORD_FIELD', new TypeError(text))
    }
    const value = (user as Record<string, unknown>)[passwordField]
    // Of a user who logs in otherwise.
    if (value === null) return null
    const read = readHash(value, hashing)
    if (read.hash === null) {
      const about = { passwordField, maxCost, maxMemory }
      request.log.warn(about, `The stored password of a user was rejected: ${read.reason}`)
      return null
    }
    warnOnce(read.hash, request)
    return read.hash
  }
}

/** Why rejections for a user with such a hash take longer than those of unknown names; null where they do not. */
function timeProblemOf(
  { kind, strength }: StoredHash,
  { profiles }: CheckTools['hashing'],
): string | null {
  if (!isOurs(kind)) return null
  const at = profiles.findIndex((profile) => profile.kind === kind)
  const profile = profiles[at]
  if (profile !== undefined && kind.work(strength) <= kind.work(profile.strength)) return null
  const numbers = Object.keys(kind.members).map(
    (name) => `, ${name}: ${strength[name as keyof typeof strength]}`,
  )
  const entry = `{ algorithm: '${kind.name}'${numbers.join('')} }`
  const remedy =
    at === 0
      ? `Raise "hashing" to ${entry}`
      : `Put ${entry} into "hashing.migrateFrom" until no user has such a hash`
  return `A stored password hash is ${profile ? `stronger than those of "hashing"` : `of another algorithm than "hashing"`}, so that unknown usernames are rejected faster than its user. ${remedy}. This is logged once`
}
