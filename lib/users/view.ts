import { inspect } from 'node:util'
import { isThenable } from '../common/objects.js'

const hashPrefix = /^\$(?:2[a-z]?\$|argon2|scrypt\$|pbkdf2)/

/**
 * `request.user`: a stored user without the fields named in `hidden`, and without own strings that begin as a hash does.
 * A plain object is copied. An instance of a class is shown through a view, whose getters, setters and methods run on
 * the instance. Hashes are also missing in what its `toJSON()` returns, and in the record that an ORM keeps in a field.
 * Other objects in the fields are shown as they are.
 */
export function viewOf(user: object, hidden: ReadonlySet<string>): object {
  if (isPlain(user) && !('toJSON' in user)) return copyOf(user, hidden)
  const mayShow = 'toJSON' in user || hasHash(user as Fields, hidden)
  return mayShow ? instanceView(user as Fields, hidden) : user
}

type Fields = Record<PropertyKey, unknown>

function isPlain(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith('$') && hashPrefix.test(value)
}

function hasHash(user: Fields, hidden: ReadonlySet<string>): boolean {
  for (const key of hidden) if (key in user) return true
  return Object.keys(user).some((key) => isHash(user[key]))
}

function copyOf(user: Fields, hidden: ReadonlySet<string>): object {
  if (!hasHash(user, hidden)) return user
  const copy: Fields = {}
  // Not a copy of all from which some are deleted: V8 keeps such objects as slow hash tables. `__proto__` has a setter.
  for (const key of Object.keys(user)) {
    if (!hidden.has(key) && key !== '__proto__' && !isHash(user[key])) copy[key] = user[key]
  }
  return copy
}

function instanceView(user: Fields, hidden: ReadonlySet<string>): object {
  // The value of an own getter is not asked for: in ORMs it may query the database.
  const isHidden = (key: PropertyKey): boolean =>
    hidden.has(key as string) || isHash(Reflect.getOwnPropertyDescriptor(user, key)?.value)
  const shown = (value: unknown): unknown => {
    // A method that returns its own instance, as save() of many ORMs, returns the view.
    if (value === user) return view
    if (isHash(value)) return undefined
    return isPlain(value) ? copyOf(value, hidden) : value
  }
  // console.log looks at the target of a Proxy, so that is an empty object and not the user.
  const target = Object.create(Object.getPrototypeOf(user) as object) as object
  Object.defineProperty(target, inspect.custom, { value: () => ({ ...view }), configurable: true })
  const view: object = new Proxy(target, {
    get(_, key) {
      const value = isHidden(key) ? undefined : user[key]
      if (typeof value !== 'function' || key === 'constructor') return shown(value)
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, user, args)
        if (isThenable(result)) return Promise.resolve(result).then(shown)
        return key === 'toJSON' && result instanceof Object ? viewOf(result, hidden) : shown(result)
      }
    },
    set: (_, key, value) => Reflect.set(user, key, value),
    has: (_, key) => !isHidden(key) && key in user,
    deleteProperty: (_, key) => Reflect.deleteProperty(user, key),
    ownKeys: () => Reflect.ownKeys(user).filter((key) => !isHidden(key)),
    getOwnPropertyDescriptor(_, key) {
      const own = Reflect.getOwnPropertyDescriptor(user, key)
      if (own === undefined || isHidden(key)) return undefined
      if ('value' in own) own.value = shown(own.value)
      return { ...own, configurable: true }
    },
  })
  return view
}
