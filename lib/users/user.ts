import { inspect } from 'node:util'
import type { FastifyRequest } from 'fastify'
import { faultOf, refusal } from '../errors.js'
import { controlCharacter } from '../http/authorization.js'
import { isThenable } from '../common/objects.js'
import { withTimeout } from '../common/timeout.js'
import type { UserService } from '../../types/user-service.js'

/** In bytes. */
const longestName = 1024

/**
 * Whether a value may be handed to a user service: a non-empty, well-formed string of at most 1,024 bytes without
 * control characters, or a finite number. Databases fail at NUL, and an ORM that is asked for `undefined` returns its first row.
 */
export function isUsableName(name: unknown): name is string | number {
  if (typeof name === 'number') return Number.isFinite(name)
  return (
    typeof name === 'string' &&
    name !== '' &&
    !isTooLong(name) &&
    name.isWellFormed() &&
    !controlCharacter.test(name)
  )
}

export function isTooLong(name: string): boolean {
  return Buffer.byteLength(name) > longestName
}

type Found = object | null

/**
 * Asks the user service for a user, and calls `use` with it. Where the service returns no promise, this function does
 * not either: a synchronous request is faster.
 *
 * @param use - gets the user or null; default: returns it
 * @throws (or rejects with) AuthenticationFault when the service fails or returns no user;
 * ERR_AUTH_USER_SERVICE_TIMEOUT; what `use` throws
 */
export function findUser<Result = Found>(
  service: UserService,
  username: string | number,
  request: FastifyRequest,
  timeout?: number,
  use: (user: Found) => Result | Promise<Result> = (user) => user as Result,
): Result | Promise<Result> {
  const answer = ask(service, username, request)
  if (!(answer instanceof Promise)) return use(checkUser(answer))
  const accept = (user: unknown): Result | Promise<Result> => use(checkUser(user))
  // Errors of the service become faults (500) before the time-out, whose own error is a 503.
  return timeout === undefined
    ? answer.then(accept, fault)
    : withUserTimeout(answer.catch(fault), timeout).then(accept)
}

/** @throws (rejects) ERR_AUTH_USER_SERVICE_TIMEOUT */
export function withUserTimeout<T>(answer: Promise<T>, seconds: number | undefined): Promise<T> {
  if (seconds === undefined) return answer
  const code = 'ERR_AUTH_USER_SERVICE_TIMEOUT'
  const late = (): Error => refusal('auth.overloaded', { code, retryAfter: Math.ceil(seconds) })
  return withTimeout(answer, seconds * 1000, late)
}

/** @throws AuthenticationError when a valid token names a user who does not exist */
export function requireUser(user: Found): object {
  if (user === null) throw refusal('auth.invalid-credentials')
  return user
}

/** @returns the answer, or a real promise of it: another thenable, such as a query builder, may settle twice */
function ask(service: UserService, username: string | number, request: FastifyRequest): unknown {
  try {
    const answer: unknown = service.findByUsername(username, request)
    return isThenable(answer) ? Promise.resolve(answer) : answer
  } catch (error) {
    return fault(error)
  }
}

function fault(error: unknown): never {
  throw faultOf('ERR_AUTH_USER_SERVICE', error)
}

/** @param source - the function that has returned the user, for the error */
export function checkUser(user: unknown, source = 'findByUsername'): Found {
  if (user === null || user === undefined) return null
  if (user instanceof Error) throw faultOf('ERR_AUTH_USER_SERVICE', user)
  if (typeof user === 'object' && !Array.isArray(user)) return user
  // An array of rows, as queries return, would be a user for every name.
  const found = Array.isArray(user) ? 'an array' : `a ${typeof user}`
  throw faultOf(
    'ERR_AUTH_USER_SERVICE',
    new TypeError(`${source} returned ${found}, expected an object, null or undefined.`),
  )
}

const hashPrefix = /^\$(?:2[a-z]?\$|argon2|scrypt\$|pbkdf2)/

/**
 * `request.user`: a stored user without the fields in `hidden`, and without own strings that begin like a password
 * hash. A plain object is copied. An instance of a class gets a Proxy, whose getters, setters and methods run on the
 * instance; hashes are also removed from what its `toJSON()` returns, and from the record that an ORM keeps in a field.
 * Other objects in the fields stay as they are.
 */
export function viewOf(user: object, hidden: ReadonlySet<string>): object {
  if (isPlain(user) && !('toJSON' in user)) return copyOf(user, hidden)
  const needsView = 'toJSON' in user || hasHash(user as Fields, hidden)
  return needsView ? instanceView(user as Fields, hidden) : user
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
  // Not copied and then deleted: V8 keeps such objects as slow hash tables. An assignment to `__proto__` runs its
  // setter.
  for (const key of Object.keys(user)) {
    if (!hidden.has(key) && key !== '__proto__' && !isHash(user[key])) copy[key] = user[key]
  }
  return copy
}

function instanceView(user: Fields, hidden: ReadonlySet<string>): object {
  // Own getters are not called: those of ORMs may query the database.
  const isHidden = (key: PropertyKey): boolean =>
    hidden.has(key as string) || isHash(Reflect.getOwnPropertyDescriptor(user, key)?.value)
  const withoutHash = (value: unknown): unknown => {
    // Methods such as save() of many ORMs return their own instance.
    if (value === user) return view
    if (isHash(value)) return undefined
    return isPlain(value) ? copyOf(value, hidden) : value
  }
  // The target is an empty object and not the user, since console.log prints the target of a Proxy.
  const target = Object.create(Object.getPrototypeOf(user) as object) as object
  Object.defineProperty(target, inspect.custom, { value: () => ({ ...view }), configurable: true })
  const view: object = new Proxy(target, {
    get(_, key) {
      const value = isHidden(key) ? undefined : user[key]
      if (typeof value !== 'function' || key === 'constructor') return withoutHash(value)
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, user, args)
        if (isThenable(result)) return Promise.resolve(result).then(withoutHash)
        return key === 'toJSON' && result instanceof Object
          ? viewOf(result, hidden)
          : withoutHash(result)
      }
    },
    set: (_, key, value) => Reflect.set(user, key, value),
    has: (_, key) => !isHidden(key) && key in user,
    deleteProperty: (_, key) => Reflect.deleteProperty(user, key),
    ownKeys: () => Reflect.ownKeys(user).filter((key) => !isHidden(key)),
    getOwnPropertyDescriptor(_, key) {
      const own = Reflect.getOwnPropertyDescriptor(user, key)
      if (own === undefined || isHidden(key)) return undefined
      if ('value' in own) own.value = withoutHash(own.value)
      return { ...own, configurable: true }
    },
  })
  return view
}
