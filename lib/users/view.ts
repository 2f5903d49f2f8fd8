import { inspect } from 'node:util'
import { isPlain } from '../common/objects.js'

/** How password hashes begin, and no other string: PHC, crypt(3), Django, Werkzeug, LDAP, Spring and others. */
const beginnings = [
  String.raw`\$(?:2[a-z]?\$|argon2|scrypt\$|pbkdf2|bcrypt|wp\$)`,
  String.raw`\$(?:[1356789y]|gy|md5|sha1|apr1)[$,](?:[^\s$]{0,64}\$){0,3}[./\w]{16}|\$[PHS]\$[./\w]{31}`,
  String.raw`\b(?:pbkdf2|scrypt|bcrypt|argon2)(?:[\w:.-]{0,40}\$(?=\S)|(?::\w{1,10})?:\d{3,9}:)`,
  String.raw`\b(?:md5|sha\d{1,3})\$[^\s$]{0,64}\$(?:\d{1,9}\$)?[\da-f]{32}|\bSCRAM-SHA-\d{1,3}\$\d`,
  String.raw`\{(?:S?SHA|S?MD[45]|CRYPT|BLF-CRYPT|PBKDF2|SCRYPT|BCRYPT|ARGON2|noop)[\w@.-]{0,30}\}(?=\S)`,
  // ASP.NET Core Identity; salt and key of better-auth.
  String.raw`\bAQAAAA[AEI]A[\w+/]{4}AAAAE|\b[\da-f]{32}:[\da-f]{128}\b`,
].join('|')

const passwordHashes = new RegExp(String.raw`(?:${beginnings})[\w$+,./:={}-]*`, 'gi')

const hashStart = new RegExp(`^(?:${beginnings})`, 'i')

function isPasswordHash(value: unknown): boolean {
  if (typeof value !== 'string') return false
  // Every request looks at all strings of its user, most of which are short.
  const { length } = value
  const mayBe =
    '${'.includes(value.charAt(0)) || (length > 22 && value.includes('$')) || length > 80
  return mayBe && hashStart.test(value)
}

/** Methods of ORMs that return the field whose name they are given. */
const getters: ReadonlySet<PropertyKey> = new Set(
  'get $get getValue $__getValue getDataValue previous'.split(' '),
)

/**
 * `request.user`: a stored user without the fields in `hidden`, and without own strings that begin like a password
 * hash, or arrays with such a string. A plain object is copied. An instance of a class gets a Proxy, whose getters, setters and methods run on the
 * instance. Plain objects that its methods return, or promise, are shown in the same way, and so is the record that an
 * ORM keeps in a field. Other objects in the fields stay as they are.
 */
export function viewOf(user: object, hidden: ReadonlySet<string>): object {
  const isConvertible = 'toJSON' in user || 'toObject' in user
  if (isPlain(user) && !isConvertible) return copyOf(user, hidden)
  const needsView =
    isConvertible ||
    hasHash(user as Fields, hidden) ||
    Object.values(user).some((value) => isPlain(value) && hasHash(value, hidden))
  return needsView ? instanceView(user as Fields, hidden) : user
}

type Fields = Record<PropertyKey, unknown>

/** Whether a value is a hash, or an array with one, such as that of earlier passwords. */
function isHash(value: unknown): boolean {
  return Array.isArray(value) ? value.some(isPasswordHash) : isPasswordHash(value)
}

function hasHash(user: Fields, hidden: ReadonlySet<string>): boolean {
  for (const key of hidden) if (key in user) return true
  // Object.keys() would make a list for every request.
  for (const key in user) {
    const value = user[key]
    if (isHash(value) || (isOperator(key, value) && hasHash(value, hidden))) return true
  }
  return false
}

/** The changes of a Mongoose document stand in `$set`. */
function isOperator(key: string, value: unknown): value is Fields {
  return key.startsWith('$') && isPlain(value)
}

function copyOf(user: Fields, hidden: ReadonlySet<string>): object {
  if (!hasHash(user, hidden)) return user
  const copy: Fields = {}
  // Fields are left out instead of deleted: V8 keeps objects with deleted fields as slow hash tables. An assignment to
  // `__proto__` would run its setter.
  for (const key of Object.keys(user)) {
    const value = user[key]
    if (hidden.has(key) || key === '__proto__' || isHash(value)) continue
    copy[key] = isOperator(key, value) ? copyOf(value, hidden) : value
  }
  return copy
}

function instanceView(user: Fields, hidden: ReadonlySet<string>): object {
  // Own getters are not called: those of ORMs may query the database.
  const isHidden = (key: PropertyKey): boolean =>
    hidden.has(key as string) || isHash(Reflect.getOwnPropertyDescriptor(user, key)?.value)
  // The internal state of a Mongoose document refers to its record, and to earlier values. Mongoose itself reads it from
  // a document that it is given.
  const isInternal = (key: PropertyKey): boolean =>
    typeof key === 'string' && key.startsWith('$__') && Object.hasOwn(user, key)
  const isListed = (key: PropertyKey): boolean => !isHidden(key) && !isInternal(key)
  const shown = (value: unknown): unknown => {
    if (value === user) return view
    if (isHash(value)) return undefined
    return isPlain(value) ? copyOf(value, hidden) : value
  }
  const shownResult = (value: unknown, method: PropertyKey): unknown => {
    // A query of an ORM is a thenable too, and stays what it is.
    if (value instanceof Promise) return value.then((later) => shownResult(later, method))
    if (typeof value === 'string' && !isHash(value)) return value.replace(passwordHashes, '')
    // Methods such as save() of many ORMs return their own instance, others a clone.
    const isUser =
      value instanceof Object && (method === 'toJSON' || value.constructor === user.constructor)
    return value !== user && (isUser || isPlain(value)) ? viewOf(value, hidden) : shown(value)
  }
  // The target is an empty object and not the user, since console.log prints the target of a Proxy.
  const target = Object.create(Object.getPrototypeOf(user) as object) as object
  Object.defineProperty(target, inspect.custom, { value: () => ({ ...view }), configurable: true })
  const view: object = new Proxy(target, {
    get(_, key) {
      const value = isHidden(key) ? undefined : user[key]
      if (isInternal(key) && value instanceof Object) return instanceView(value as Fields, hidden)
      if (typeof value !== 'function' || key === 'constructor') return shown(value)
      return (...args: unknown[]): unknown => {
        if (getters.has(key) && hidden.has(args[0] as string)) return undefined
        return shownResult(Reflect.apply(value, user, args), key)
      }
    },
    set: (_, key, value) => Reflect.set(user, key, value),
    has: (_, key) => !isHidden(key) && key in user,
    deleteProperty: (_, key) => Reflect.deleteProperty(user, key),
    ownKeys: () => Reflect.ownKeys(user).filter(isListed),
    getOwnPropertyDescriptor(_, key) {
      const own = Reflect.getOwnPropertyDescriptor(user, key)
      if (own === undefined || !isListed(key)) return undefined
      if ('value' in own) own.value = shown(own.value)
      return { ...own, configurable: true }
    },
  })
  return view
}
