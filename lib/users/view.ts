import { inspect } from 'node:util'
import { isBcryptHash } from '../common/hash-format.js'
import { isThenable } from '../common/objects.js'

/**
 * What `request.user` shows of a stored user: everything but the password hashes in its own fields, which are
 * the fields named as such and every text that is a bcrypt hash. `return request.user` is the first handler
 * that everybody writes, so this must hold for JSON, for response schemas, for spreading, and for logs. Objects
 * in its fields are the app's own and are shown as they are.
 *
 * - A user without a hash is passed on as it is.
 * - A plain object is copied without its hash.
 * - An instance of a class (an ORM entity, say) is shown through a view: the same prototype, fields,
 *   getters, setters and methods, which run on the instance itself; only the hash is not there, and it is taken
 *   out of the fields of what its `toJSON` returns.
 *
 * @param hidden - names of the fields that hold password hashes
 */
export function viewOf(user: object, hidden: ReadonlySet<string>): object {
  // What toJSON will return is not known before it is called.
  if ('toJSON' in user) return instanceView(user, hidden)
  if (isPlain(user)) return copyOf(user, hidden)
  return holdsHash(user, hidden) ? instanceView(user, hidden) : user
}

/** Whether a value is an object of no class. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function hasField(user: object, names: ReadonlySet<string>): boolean {
  for (const name of names) if (name in user) return true
  return false
}

/** @returns a copy without hashes; the user itself when it has none */
function copyOf(user: object, hidden: ReadonlySet<string>): object {
  const fields = fieldsOf(user)
  const value = (key: string | symbol): unknown => (user as Record<PropertyKey, unknown>)[key]
  if (!hasField(user, hidden) && !fields.some((key) => isBcryptHash(value(key)))) return user
  const copy: Record<PropertyKey, unknown> = {}
  // Not a copy of all from which some are deleted: V8 keeps such objects as slow hash tables.
  for (const key of fields) {
    if (hidden.has(key as string)) continue
    const shown = value(key)
    if (isBcryptHash(shown)) continue
    if (key in copy) Object.defineProperty(copy, key, { ...plain, value: shown })
    else copy[key] = shown
  }
  return copy
}

/** The keys of the enumerable own fields. */
function fieldsOf(user: object): readonly (string | symbol)[] {
  const symbols = Object.getOwnPropertySymbols(user)
  if (symbols.length === 0) return Object.keys(user)
  return Reflect.ownKeys(user).filter((key) =>
    Object.prototype.propertyIsEnumerable.call(user, key),
  )
}

/** For names that all objects inherit: `__proto__` has a setter, and the others may be frozen. */
const plain = { configurable: true, enumerable: true, writable: true }

/** Whether an instance has a hash in a field of its own. */
function holdsHash(user: object, hidden: ReadonlySet<string>): boolean {
  if (hasField(user, hidden)) return true
  // Of bytes, every one is a field.
  if (ArrayBuffer.isView(user)) return false
  return Reflect.ownKeys(user).some((key) => isBcryptHash(dataOf(user, key)))
}

/** The value of an own field; of a getter nothing: in ORMs it may ask the database. */
function dataOf(user: object, key: PropertyKey): unknown {
  return Reflect.getOwnPropertyDescriptor(user, key)?.value as unknown
}

/**
 * The target of the proxy is an empty object with the same prototype, not the user: a proxy must
 * report what its target has that cannot be configured, as every field of a frozen user.
 */
function instanceView(user: object, hidden: ReadonlySet<string>): object {
  const isHidden = (key: PropertyKey): boolean =>
    hidden.has(key as string) || isBcryptHash(dataOf(user, key))
  // A method that returns its own instance, as save() of many ORMs, returns the view.
  const self = (value: unknown): unknown => (value === user ? view : value)
  const field = (value: unknown): unknown => {
    if (isBcryptHash(value)) return undefined
    // ORMs keep the fields of a record in an object of its own, such as dataValues.
    return isPlain(value) ? copyOf(value, hidden) : self(value)
  }
  const method = (key: PropertyKey, run: (...args: unknown[]) => unknown) => {
    return (...args: unknown[]): unknown => {
      const result = Reflect.apply(run, user, args)
      if (isThenable(result)) return Promise.resolve(result).then(self)
      const isOther = typeof result === 'object' && result !== null && result !== user
      return key === 'toJSON' && isOther ? viewOf(result, hidden) : self(result)
    }
  }
  const target = Object.create(Object.getPrototypeOf(user)) as object
  // console.log looks at the target, which has nothing in it.
  Object.defineProperty(target, inspect.custom, { value: () => ({ ...view }), configurable: true })
  const view: object = new Proxy(target, {
    get(_, key) {
      if (isHidden(key)) return undefined
      const value: unknown = Reflect.get(user, key, user)
      const isMethod = key === 'toJSON' || (key !== 'constructor' && !Object.hasOwn(user, key))
      return typeof value === 'function' && isMethod
        ? method(key, value as () => unknown)
        : field(value)
    },
    set: (_, key, value) => Reflect.set(user, key, value, user),
    has: (_, key) => !isHidden(key) && Reflect.has(user, key),
    deleteProperty: (_, key) => Reflect.deleteProperty(user, key),
    // A field of the target would not be shown, and one that cannot be configured would have to be.
    defineProperty: () => false,
    preventExtensions: () => false,
    ownKeys: () => Reflect.ownKeys(user).filter((key) => !isHidden(key)),
    getOwnPropertyDescriptor(_, key) {
      const own = isHidden(key) ? undefined : Reflect.getOwnPropertyDescriptor(user, key)
      if (own === undefined) return undefined
      const value = 'value' in own ? { value: Reflect.get(view, key) as unknown } : {}
      return { ...own, ...value, configurable: true }
    },
  })
  return view
}
