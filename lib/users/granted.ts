import { types } from 'node:util'
import { ownOf } from '../common/objects.js'

const none: ReadonlySet<string> = new Set()

/**
 * Claims of a remembered token are one object for all of its requests, frozen at any depth, so they are read once: to
 * read four scopes takes 1.5 µs, about a tenth of a request. Claims that an app has put into `request.extra` may change.
 */
const scopesOfClaims = new WeakMap<object, ReadonlySet<string>>()

/**
 * The scopes of a token: the claim `scope` where it is there, a text in which spaces separate names (RFC 8693
 * section 4.2), otherwise the claim `scp`, a text like it or an array of names.
 *
 * @param claims - of a token; anything but an object has no scopes
 */
export function scopesOf(claims: unknown): ReadonlySet<string> {
  if (typeof claims !== 'object' || claims === null) return none
  const known = scopesOfClaims.get(claims)
  if (known !== undefined) return known
  const scopes = readScopes(claims)
  if (isFrozen(claims)) scopesOfClaims.set(claims, scopes)
  return scopes
}

function isFrozen(claims: object): boolean {
  return Object.isFrozen(claims) && Object.isFrozen(ownOf(claims, 'scp'))
}

function readScopes(claims: object): ReadonlySet<string> {
  if (Object.hasOwn(claims, 'scope')) return namesOfText(ownOf(claims, 'scope'))
  const scp = ownOf(claims, 'scp')
  return Array.isArray(scp) ? namesOfArray(scp) : namesOfText(scp)
}

/** Separated by U+0020 and nothing else. */
function namesOfText(text: unknown): ReadonlySet<string> {
  if (typeof text !== 'string') return none
  return new Set(text.split(' ').filter((name) => name !== ''))
}

/** A list with an element that is not a text grants nothing. */
function namesOfArray(list: readonly unknown[]): ReadonlySet<string> {
  // A set has the holes of a list too, which `every` would pass over.
  const names = new Set(list)
  for (const name of names) if (typeof name !== 'string') return none
  return names as ReadonlySet<string>
}

/** The roles of a user: `roles`, an array of texts, where it is there, otherwise `role`, a text. */
export function rolesOf(user: object): ReadonlySet<string> {
  if (Object.hasOwn(user, 'roles')) {
    const roles = ownOf(user, 'roles')
    return Array.isArray(roles) ? namesOfArray(roles) : none
  }
  const role = ownOf(user, 'role')
  return typeof role === 'string' ? new Set([role]) : none
}

/**
 * What an app's own `scopesOf` or `rolesOf` has returned, as a set.
 *
 * @throws TypeError for a text, which would be taken for its letters, and for what is no iterable of texts
 */
export function namesOf(returned: unknown, option: string): ReadonlySet<string> {
  if (returned === null || returned === undefined) return none
  const isIterable =
    typeof returned === 'object' &&
    !types.isStringObject(returned) &&
    typeof (returned as { [Symbol.iterator]?: unknown })[Symbol.iterator] === 'function'
  if (!isIterable) {
    throw new TypeError(`${option} returned a ${typeof returned}, expected an array of names.`)
  }
  const names = new Set<string>()
  for (const name of returned as Iterable<unknown>) {
    if (typeof name !== 'string') {
      throw new TypeError(`${option} returned a list with a ${typeof name}, expected texts.`)
    }
    names.add(name)
  }
  return names
}
