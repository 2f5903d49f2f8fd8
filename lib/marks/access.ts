import { wrongMark } from '../errors.js'
import { ownProperty, declaredProperty } from '../common/objects.js'
import type { NeededNames } from '../../types/marks.js'

/** The syntax of names; `what` describes it in errors. */
const kinds = {
  // RFC 6749 section 3.3: scope-token.
  scope: {
    isName: (text: string) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text),
    what: 'a scope of RFC 6749 section 3.3: visible ASCII without spaces, quotation marks and backslashes',
  },
  role: {
    // As a class of its own: for `\p{Cc}` V8 builds a set of characters when it loads the package.
    // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
    isName: (text: string) => text.trim() !== '' && !/[\u0000-\u001f\u007f-\u009f]/.test(text),
    what: 'a string that is not blank and has no control characters',
  },
}

/**
 * Reads `scope` or `role` of a mark: one name, `{ all: […] }` or `{ any: […] }`. A bare array is an error, because half
 * of all packages read it as "all of them" and half as "one of them".
 *
 * @param place - where the mark is, for the error
 * @returns null where the mark does not have it
 * @throws ERR_AUTH_MARK
 */
export function parseNeed(mark: object, key: 'scope' | 'role', place: string): NeededNames | null {
  const fail = (found: string): never => refuse(place, key, found)
  if (!Object.hasOwn(mark, key)) {
    // An inherited one, of a class for instance, must not be overlooked: the route would be more open than it says.
    return declaredProperty(mark, key) === undefined ? null : fail('one that is inherited')
  }
  const need = ownProperty(mark, key)
  if (typeof need === 'string') return { all: [checkName(need, key, fail)] }
  if (need === undefined) return fail('undefined (is a variable not set?)')
  if (Array.isArray(need)) return fail('an array')
  if (typeof need !== 'object' || need === null) return fail(need === null ? 'null' : typeof need)
  const keys = Object.keys(need)
  if (keys.length !== 1 || !(keys[0] === 'all' || keys[0] === 'any')) {
    return fail(keys.length === 0 ? 'an empty object' : `an object with ${keys.join(' and ')}`)
  }
  const names = ownProperty(need, keys[0])
  if (!Array.isArray(names)) return fail(`${keys[0]} without an array`)
  if (names.length === 0) return fail(`an empty list for ${keys[0]}`)
  // Array.from also visits holes, which map() would skip.
  const checked = Array.from(names as unknown[], (name) => checkName(name, key, fail))
  return keys[0] === 'all' ? { all: checked } : { any: checked }
}

export function isAccessName(key: 'scope' | 'role', name: string): boolean {
  return kinds[key].isName(name)
}

function checkName(name: unknown, key: 'scope' | 'role', fail: (found: string) => never): string {
  if (typeof name !== 'string')
    return fail(`a name that is ${name === null ? 'null' : typeof name}`)
  return isAccessName(key, name) ? name : fail(`the name ${JSON.stringify(name)}`)
}

function refuse(place: string, key: 'scope' | 'role', found: string): never {
  wrongMark(
    `${place}: found ${found} for ${key}, expected one name, { all: ['…'] } or { any: ['…'] }, each name ${kinds[key].what}.`,
  )
}

/** Such as `scope notes:read and notes:write`, for the log and for the table of routes. */
export function needText(key: 'scope' | 'role', need: NeededNames): string {
  const names = 'all' in need ? need.all.join(' and ') : need.any.join(' or ')
  return `${key} ${names}`
}

/** Whether a user has the scopes or roles that a mark needs. Names are compared character by character. */
export function meets(need: NeededNames, granted: ReadonlySet<string>): boolean {
  return 'all' in need
    ? need.all.every((name) => granted.has(name))
    : need.any.some((name) => granted.has(name))
}
