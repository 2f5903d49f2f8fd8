import { ownProperty } from '../common/objects.js'

const none: ReadonlySet<string> = new Set()

/** The claims of a cached token are one object for all of its requests. To read four scopes takes 1.5 µs. */
const scopesOfClaims = new WeakMap<object, { scope: unknown; scp: unknown; names: typeof none }>()

/**
 * The scopes of a token: the claim `scope` where it is there, a text in which spaces separate names (RFC 8693
 * section 4.2), otherwise the claim `scp`, a text like it or an array of names.
 *
 * @param claims - of a token; anything but an object has no scopes
 */
export function scopesOf(claims: unknown): ReadonlySet<string> {
  if (typeof claims !== 'object' || claims === null) return none
  const [scope, scp] = [ownProperty(claims, 'scope'), ownProperty(claims, 'scp')]
  const known = scopesOfClaims.get(claims)
  if (known !== undefined && known.scope === scope && known.scp === scp) return known.names
  const isList = !Object.hasOwn(claims, 'scope') && Array.isArray(scp)
  const names = isList
    ? namesOfArray(scp)
    : namesOfText(Object.hasOwn(claims, 'scope') ? scope : scp)
  scopesOfClaims.set(claims, { scope, scp, names })
  return names
}

/** Separated by U+0020 and nothing else. */
function namesOfText(text: unknown): ReadonlySet<string> {
  if (typeof text !== 'string') return none
  return new Set(text.split(' ').filter((name) => name !== ''))
}

/** A list with an element that is not a string grants nothing. */
function namesOfArray(list: readonly unknown[]): ReadonlySet<string> {
  // A set has the holes of a list too, which `every` would pass over.
  const names = new Set(list)
  for (const name of names) if (typeof name !== 'string') return none
  return names as ReadonlySet<string>
}

/** The roles of a user: `roles`, an array of strings, where it is there, otherwise `role`, a string. */
export function rolesOf(user: object): ReadonlySet<string> {
  if (Object.hasOwn(user, 'roles')) {
    const roles = ownProperty(user, 'roles')
    return Array.isArray(roles) ? namesOfArray(roles) : none
  }
  const role = ownProperty(user, 'role')
  return typeof role === 'string' ? new Set([role]) : none
}

/** @throws TypeError for what an app's `scopesOf` or `rolesOf` must not return: its letters would be the names of a string */
export function namesOf(returned: unknown, option: string): ReadonlySet<string> {
  if (returned === null || returned === undefined) return none
  const names = new Set(typeof returned === 'object' ? (returned as Iterable<unknown>) : [0])
  for (const name of names) {
    if (typeof name !== 'string') throw new TypeError(`${option} must return an array of strings.`)
  }
  return names as ReadonlySet<string>
}
