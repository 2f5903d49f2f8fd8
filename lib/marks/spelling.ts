import { ownOf } from '../common/objects.js'
import { isMark } from './parse.js'

/**
 * Names that can only be meant as a mark: `authn`, `authenticate`, `isAuth`, `requireAuth`, `requiresAuthentication`,
 * `auth_required`. They are compared in lower case, without anything but letters.
 */
const meansAuth =
  /^(?:(?:is|has|use|with|must|mustbe|needs?|requires?|required)?auth(?:n|ed|enticat(?:e|ed|ion|or|ors))?(?:required|needed|only|mode|mark)?)$/
/** Names that are meant as a mark if their value is one; with other values they may belong to another plugin. */
const mayMeanAuth =
  /^(?:(?:is|must|mustbe)?(?:protected|secured|guarded)|(?:needs?|requires?)(?:login|user)|(?:login|user)required|authori[sz](?:e|ed|ation)|(?:jwt|basic|bearer|token)auth)$/
/** Slips of the finger, and the name of this package. */
const slips = /^(?:auths|aut|ath|auht|atuh|uath|autn|fastifyauthn?)$/
/** Options of Fastify whose content is not searched, because there any name is allowed. */
const notLookedInto = new Set(['constraints', 'logSerializers', 'config', 'schema'])

/**
 * Finds a mark in the wrong place, in the options of a route without a mark: there it would have no effect.
 *
 * @param options - of the route
 * @returns the place, such as `schema.auth`; undefined when nothing was found
 */
export function misplacedInRoute(options: object): string | undefined {
  const config = ownOf(options, 'config')
  if (hasOwnValue(config, 'auth')) return undefined
  return (
    misspeltIn(config, 'config.') ??
    misspeltIn(options, '') ??
    misspeltIn(ownOf(options, 'schema'), 'schema.') ??
    markInside(
      options,
      Object.keys(options).filter((key) => !notLookedInto.has(key)),
    ) ??
    markInside(config, ['config', 'options', 'meta', '0'], 'config.') ??
    markInside(ownOf(options, 'schema'), ['config'], 'schema.')
  )
}

/**
 * Finds `scope` or `role` beside the mark in a `config`, or where only a mark around the route holds: they have an effect
 * only inside of the route's own mark.
 *
 * @param around - the mark of the scope of the route
 */
export function besideMark(config: unknown, around: unknown): 'scope' | 'role' | undefined {
  if (!isObject(config)) return undefined
  const isMarked = hasOwnValue(config, 'auth') || (around !== undefined && around !== false)
  if (!isMarked) return undefined
  return (['scope', 'role'] as const).find((key) => Object.hasOwn(config, key))
}

/** Finds a mark in the wrong place, in the options of an `app.register` whose plugin has a scope of its own. */
export function misplacedInScope(options: object): string | undefined {
  if (hasOwnValue(options, 'auth')) return undefined
  if (Object.hasOwn(options, 'auth')) return 'auth: undefined'
  const misspelt = Object.keys(options).find(
    (key) =>
      (meansAuth.test(plain(key)) || slips.test(plain(key))) && isAsking(ownOf(options, key)),
  )
  return misspelt ?? markInside(options, ['config', 'options', 'meta', 'routeOptions'])
}

/** Finds a mark in the `config` among the options of an `app.register`: there it has no effect. */
export function configOfScope(options: object): string | undefined {
  return hasOwnValue(options, 'auth') ? undefined : markInside(options, ['config'])
}

function hasOwnValue(object: unknown, key: string): boolean {
  return isObject(object) && ownOf(object, key) !== undefined
}

/** Finds a misspelt name of a mark; also `auth` itself, which is in the wrong place here or has no value. */
function misspeltIn(object: unknown, path: string): string | undefined {
  if (!isObject(object)) return undefined
  const found = Object.keys(object).find((key) => {
    const name = plain(key)
    const value = ownOf(object, key)
    if (meansAuth.test(name)) return name === 'auth' || value !== false
    if (slips.test(name)) return isAsking(value)
    return mayMeanAuth.test(name) && isAsking(value) && !isPermission(name, value)
  })
  if (found === undefined) return undefined
  return path === 'config.' && found === 'auth' ? 'config.auth: undefined' : path + found
}

/** What others mean by `authorize: { role: 'admin' }` need not be ours. */
function isPermission(name: string, value: unknown): boolean {
  return name.startsWith('authori') && isObject(value) && !('mode' in value || 'use' in value)
}

/** Finds a mark one level deeper, in the properties `keys`. */
function markInside(object: unknown, keys: readonly string[], path = ''): string | undefined {
  if (!isObject(object)) return undefined
  const found = keys.find((key) => {
    const inner = ownOf(object, key)
    return isObject(inner) && isAsking(ownOf(inner, 'auth'))
  })
  return found === undefined ? undefined : `${path}${found}.auth`
}

/** Whether a value is any mark but `false`. */
function isAsking(value: unknown): boolean {
  return value !== false && isMark(value)
}

function plain(key: string): string {
  return key.toLowerCase().replaceAll(/[^a-z]/g, '')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
