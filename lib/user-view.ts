import { inspect } from 'node:util'
import { isBcryptHash } from './hashing/shape.js'
import { isThenable } from './objects.js'

/**
 * What `request.user` shows of a stored user: everything but password hashes, which are the fields named as
 * such and every text that is a bcrypt hash. `return request.user` is the first handler that everybody
 * writes, so this must hold for JSON, for response schemas, for spreading, and for logs.
 *
 * - A user without a hash is passed on as it is.
 * - A plain object is copied without its hash.
 * - An instance of a class (an ORM entity, say) is shown through a view: the same prototype, fields,
 *   getters, setters and methods, which run on the instance itself; only the hash is not there, and
 *   what its `toJSON` returns has it taken out.
 *
 * @param hidden - names of the fields that hold password hashes
 */
export function viewOf(user: object, hidden: ReadonlySet<string>): object {
  const flat = viewOfFlat(user, hidden)
  if (flat !== null) return flat
  // What toJSON will tell is not known before.
  if (!holdsHash(user, hidden) && !('toJSON' in user)) return user
  return isPlain(user) ? withoutHashes(user, hidden) : instanceView(user, hidden)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** What can be copied; an own `toJSON` would still speak for the original. */
function isPlain(user: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(user)
  const isBare = prototype === Object.prototype || prototype === null
  return isBare && !('toJSON' in user)
}

/**
 * The view of the usual row of a database, a plain object of nothing but texts, numbers and their like: what
 * follows comes to the same, but is made for what is deeper.
 *
 * @returns null for any other
 */
function viewOfFlat(user: object, hidden: ReadonlySet<string>): object | null {
  if (Object.getPrototypeOf(user) !== Object.prototype || 'toJSON' in user) return null
  try {
    for (const field of hidden) if (field in user) return flatCopy(user, hidden)
    for (const key in user) {
      const value = (user as Record<string, unknown>)[key]
      if (isBcryptHash(value) || !isFlat(value)) return null
    }
  } catch {
    // A getter that fails is left to who calls it.
    return null
  }
  return user
}

function isFlat(value: unknown): boolean {
  return typeof value !== 'function' && !isObject(value)
}

function flatCopy(user: object, hidden: ReadonlySet<string>): object | null {
  if (Object.getOwnPropertySymbols(user).length > 0) return null
  const copy: Record<string, unknown> = {}
  for (const key in user) {
    if (hidden.has(key)) continue
    const value = (user as Record<string, unknown>)[key]
    if (isBcryptHash(value)) continue
    if (key in copy || !isFlat(value)) return null
    copy[key] = value
  }
  return copy
}

/** More objects than this below one user are not looked through: it is shown as if a hash was in them. */
const most = 1000

/** Whether there is a hash in an object, or in what hangs on it: `raw`, `dataValues`, relations, lists. */
function holdsHash(user: object, hidden: ReadonlySet<string>, seen?: Set<object>): boolean {
  for (const field of hidden) if (field in user) return true
  // A list of bytes: nothing in it is a text.
  if (ArrayBuffer.isView(user)) return false
  for (const key of Object.keys(user)) {
    const value = dataOf(user, key)
    if (isBcryptHash(value)) return true
    if (!isObject(value)) continue
    const known = (seen ??= new Set<object>([user]))
    if (known.has(value)) continue
    known.add(value)
    if (known.size > most || holdsHash(value, hidden, known)) return true
  }
  return false
}

/** The value of an own field; of a getter nothing, which is not called for this. */
function dataOf(user: object, key: string): unknown {
  return Reflect.getOwnPropertyDescriptor(user, key)?.value as unknown
}

/** Copies of what was met before, by their originals: what hangs on a user may lead back to it. */
type Copies = Map<object, object>

/** A copy without hashes, at any depth of what JSON is made of. */
function withoutHashes(
  value: object,
  hidden: ReadonlySet<string>,
  copies: Copies = new Map(),
): object {
  const known = copies.get(value)
  if (known !== undefined) return known
  if (Array.isArray(value)) {
    const list: unknown[] = []
    copies.set(value, list)
    for (const item of value) list.push(shorn(item, hidden, copies))
    return list
  }
  if (!isPlain(value)) return instanceView(value, hidden)
  // Not a copy of all from which some are deleted: V8 keeps such objects as slow hash tables.
  const copy: Record<PropertyKey, unknown> = {}
  copies.set(value, copy)
  for (const key of Object.keys(value)) {
    if (hidden.has(key)) continue
    const field = (value as Record<string, unknown>)[key]
    if (isBcryptHash(field)) continue
    const own = isObject(field) ? shorn(field, hidden, copies) : field
    // Also where somebody has frozen, or put setters on, what all objects inherit.
    if (key in copy) define(copy, key, own)
    else copy[key] = own
  }
  for (const key of Object.getOwnPropertySymbols(value)) {
    const field = (value as Record<symbol, unknown>)[key]
    const isShown = Object.prototype.propertyIsEnumerable.call(value, key) && !isBcryptHash(field)
    if (isShown) define(copy, key, field)
  }
  return copy
}

function define(object: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(object, key, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  })
}

/** What has no hash in it, such as a Date, stays as it is. */
function shorn(value: unknown, hidden: ReadonlySet<string>, copies?: Copies): unknown {
  if (isBcryptHash(value)) return undefined
  return isObject(value) && holdsHash(value, hidden) ? withoutHashes(value, hidden, copies) : value
}

/**
 * The target of the proxy is an empty object with the same prototype, not the user: a proxy must
 * report what its target has that cannot be configured, as every field of a frozen user.
 */
function instanceView(
  user: object,
  hidden: ReadonlySet<string>,
  views: Copies = new Map(),
): object {
  const present = views.get(user)
  if (present !== undefined) return present
  const isHidden = (key: PropertyKey): boolean =>
    typeof key === 'string' && (hidden.has(key) || isBcryptHash(dataOf(user, key)))
  // A method that returns its own instance, as save() of many ORMs, returns the view.
  const shown = (result: unknown): unknown => (result === user ? view : result)
  // ORMs keep the fields of a record in an object of its own, such as dataValues, and relations beside it.
  const shownField = (value: unknown): unknown => {
    if (!isObject(value) || value === view || !holdsHash(value, hidden)) return value
    return Array.isArray(value) ? withoutHashes(value, hidden) : instanceView(value, hidden, views)
  }
  const texts = (): unknown[] =>
    [...hidden].map((field) => Reflect.get(user, field, user) as unknown)
  const spoken = (result: unknown): unknown => {
    if (typeof result === 'string') return texts().reduce<string>(withoutText, result)
    return isObject(result) && result !== user ? withoutHashes(result, hidden) : shown(result)
  }
  const method = (key: PropertyKey, run: (...args: unknown[]) => unknown) => {
    return (...args: unknown[]): unknown => {
      const result: unknown = Reflect.apply(run, user, args)
      if (key === 'toJSON' || key === 'toString') return spoken(result)
      return isThenable(result) ? Promise.resolve(result).then(shown) : shown(result)
    }
  }
  const target = Object.create(Object.getPrototypeOf(user)) as object
  // console.log looks at the target, which has nothing in it.
  Object.defineProperty(target, inspect.custom, { value: () => ({ ...view }), configurable: true })
  const view: object = new Proxy(target, {
    get(_, key) {
      if (isHidden(key)) return undefined
      const value: unknown = Reflect.get(user, key, user)
      if (typeof value !== 'function')
        return isBcryptHash(value) ? undefined : shownField(shown(value))
      const isMethod = key === 'toJSON' || (key !== 'constructor' && !Object.hasOwn(user, key))
      return isMethod ? method(key, value as () => unknown) : value
    },
    set: (_, key, value) => Reflect.set(user, key, value, user),
    has: (_, key) => !isHidden(key) && Reflect.has(user, key),
    deleteProperty: (_, key) => Reflect.deleteProperty(user, key),
    defineProperty: (_, key, descriptor) =>
      // The target could not be told of what cannot be configured.
      descriptor.configurable === true && Reflect.defineProperty(user, key, descriptor),
    preventExtensions: () => false,
    ownKeys: () => Reflect.ownKeys(user).filter((key) => !isHidden(key)),
    getOwnPropertyDescriptor(_, key) {
      const descriptor = isHidden(key) ? undefined : Reflect.getOwnPropertyDescriptor(user, key)
      if (descriptor === undefined) return undefined
      const value = 'value' in descriptor ? { value: Reflect.get(view, key) as unknown } : {}
      return { ...descriptor, ...value, configurable: true }
    },
  })
  views.set(user, view)
  return view
}

function withoutText(text: string, secret: unknown): string {
  return typeof secret === 'string' && secret !== '' ? text.replaceAll(secret, '') : text
}
