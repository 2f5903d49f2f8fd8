import { isThenable } from './users.js'

/**
 * What `request.user` shows of a stored user: everything but the fields that hold password hashes.
 * `return request.user` is the first handler that everybody writes, so this must hold for JSON, for
 * response schemas, for spreading, and for logs.
 *
 * - A user without such a field is passed on as it is.
 * - A plain object is copied without the field.
 * - An instance of a class (an ORM entity, say) is shown through a view: the same prototype, fields,
 *   getters, setters and methods, which run on the instance itself; only the hash is not there, and
 *   what its `toJSON` returns has it taken out.
 *
 * @param hidden - names of the fields that hold password hashes
 */
export function viewOf(user: object, hidden: ReadonlySet<string>): object {
  if (!hasAny(user, hidden)) return user
  return isPlain(user) ? withoutFields(user, hidden) : instanceView(user, hidden)
}

/** What can be copied; an own `toJSON` would still speak for the original. */
function isPlain(user: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(user)
  const isBare = prototype === Object.prototype || prototype === null
  return isBare && !('toJSON' in user)
}

function withoutFields(user: object, hidden: ReadonlySet<string>): object {
  const copy: Record<PropertyKey, unknown> = { ...user }
  for (const field of hidden) delete copy[field]
  return copy
}

/**
 * The target of the proxy is an empty object with the same prototype, not the user: a proxy must
 * report what its target has that cannot be configured, as every field of a frozen user.
 */
function instanceView(user: object, hidden: ReadonlySet<string>): object {
  const isHidden = (key: PropertyKey): boolean => typeof key === 'string' && hidden.has(key)
  // A method that returns its own instance, as save() of many ORMs, returns the view.
  const shown = (result: unknown): unknown => (result === user ? view : result)
  // ORMs keep the fields of a record in an object of its own, such as dataValues.
  const shownField = (value: unknown): unknown =>
    isObject(value) && isPlain(value) && hasAny(value, hidden) ? instanceView(value, hidden) : value
  const method = (key: PropertyKey, run: (...args: unknown[]) => unknown) => {
    return (...args: unknown[]): unknown => {
      const result: unknown = Reflect.apply(run, user, args)
      if (key === 'toJSON' && isObject(result) && result !== user) return viewOf(result, hidden)
      return isThenable(result) ? Promise.resolve(result).then(shown) : shown(result)
    }
  }
  const view: object = new Proxy(Object.create(Object.getPrototypeOf(user)) as object, {
    get(_, key) {
      if (isHidden(key)) return undefined
      const value: unknown = Reflect.get(user, key, user)
      if (typeof value !== 'function') return shownField(shown(value))
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
  return view
}

function hasAny(value: object, fields: ReadonlySet<string>): boolean {
  for (const field of fields) if (field in value) return true
  return false
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
