import type { FastifyRequest } from 'fastify'
import { faultOf, isAuthenticationError, rejection, rejectionOrFault } from '../errors/errors.js'
import { controlCharacter } from '../http/authorization.js'
import { ABANDONED, isGone } from '../http/disconnect.js'
import { isThenable } from '../common/objects.js'
import { withTimeout } from '../common/timeout.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { JwtAuthenticatorOptions } from '../../types/options.js'
import type { MessageKey } from '../../types/messages.js'
import type { JwtClaims } from '../../types/request-extra.js'
import type { UserService } from '../../types/user-service.js'

/** Whether a user service may get a value: databases fail at NUL, and ORMs return the first row for `undefined`. */
export function isUsableName(name: unknown): name is string | number {
  if (typeof name === 'number') return Number.isFinite(name)
  if (typeof name !== 'string' || name === '' || isTooLong(name)) return false
  return name.isWellFormed() && !controlCharacter.test(name)
}

export function isTooLong(name: string): boolean {
  return Buffer.byteLength(name) > 1024
}

type Found = object | null

/**
 * Asks the user service, and calls `use` with the user or null. It returns a promise only where the service does: a
 * synchronous request is faster. @throws (or rejects with) AuthenticationFault when the service fails, and an
 * AuthenticationError of the app, whose words are for clients that have proved who they are: see {@link asUnknown}
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

/** {@link findUser} of a registration that has a user service. */
export async function findUserOf(
  { userService, userServiceTimeout }: Pick<ResolvedOptions, 'userService' | 'userServiceTimeout'>,
  name: string | number,
  request: FastifyRequest,
): Promise<Found> {
  return findUser(userService as UserService, name, request, userServiceTimeout)
}

/** Users who may not log in, and the message that says why. It is sent after the login has proved who the user is. */
export const refused = new WeakMap<object, MessageKey>()

/** A method of a user service of the package: it finds the users in {@link refused} too. */
export const kFindForLogin: unique symbol = Symbol('fastify-authn.find-for-login')

/** A method of such a service: the one spelling of a name at a login, by which failures are counted; null for none. */
export const kLoginName: unique symbol = Symbol('fastify-authn.login-name')

type ForLogins = UserService & {
  readonly [kLoginName]?: (name: string) => string | null
  readonly [kFindForLogin]?: UserService['findByUsername']
}

/** The name that a user may log in with; null for what is none. */
export function loginNameOf(service: UserService, name: string): string | null {
  const { [kLoginName]: nameOf } = service as ForLogins
  return nameOf === undefined ? name : nameOf(name)
}

/** Finds a user whose password or passkey is checked next, also one who may not log in. */
export async function findForLogin(
  options: Pick<ResolvedOptions, 'userService' | 'userServiceTimeout'>,
  name: string | number,
  request: FastifyRequest,
): Promise<Found> {
  const { [kFindForLogin]: find } = options.userService as ForLogins
  const userService = find === undefined ? options.userService : { findByUsername: find }
  return findUserOf({ ...options, userService }, name, request)
}

/** Before a client has proved who it is, a user whom the app rejects counts as unknown, and only the log tells. */
export const asUnknown =
  ({ log }: FastifyRequest) =>
  (error: unknown): null => {
    // A 503 is about the server.
    if (!isAuthenticationError(error) || error.statusCode === 503) throw error
    log.info({ code: error.code }, 'findByUsername has rejected a user, who counts as unknown here')
    return null
  }

export function withUserTimeout<T>(answer: Promise<T>, seconds: number | undefined): Promise<T> {
  if (seconds === undefined) return answer
  return withTimeout(answer, seconds * 1000, () => tooLate(seconds))
}

export function tooLate(seconds: number): Error {
  const code = 'ERR_AUTH_USER_SERVICE_TIMEOUT'
  return rejection('auth.overloaded', { code, retryAfter: Math.ceil(seconds) })
}

/** Asks the option `trusted`. @throws (rejects) AuthenticationError for any answer but `true`; what `trusted` throws */
export async function requireTrust(
  trusted: NonNullable<JwtAuthenticatorOptions['trusted']>,
  claims: JwtClaims,
  request: FastifyRequest,
  timeout: number | undefined,
): Promise<void> {
  const answer: unknown = await withUserTimeout((async () => trusted(claims, request))(), timeout)
  if (isGone(request)) throw ABANDONED
  if (answer !== true) throw rejection('auth.jwt-invalid', { cause: 'not trusted' })
}

/** Asks a function of an option for a user. @param source - the function, for the error */
export async function askForUser(ask: () => unknown, timeout: number | undefined, source: string) {
  try {
    return requireUser(checkUser(await withUserTimeout((async () => ask())(), timeout), source))
  } catch (error) {
    throw rejectionOrFault('ERR_AUTH_USER_SERVICE', error)
  }
}

/** @throws AuthenticationError when a valid token names a user who does not exist */
export function requireUser(user: Found): object {
  if (user === null) throw rejection('auth.invalid-credentials')
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
  // An error of another service that uses this package may have such a code too.
  const isOurs = (Object(error) as Error).name === 'AuthenticationError'
  throw (isOurs ? rejectionOrFault : faultOf)('ERR_AUTH_USER_SERVICE', error)
}

function checkUser(user: unknown, source = 'findByUsername'): Found {
  if (user === null || user === undefined) return null
  if (user instanceof Error) return fault(user)
  if (typeof user === 'object' && !Array.isArray(user)) return user
  // An array of rows, as queries return, would be a user for every name.
  const found = Array.isArray(user) ? 'an array' : `a ${typeof user}`
  return fault(new TypeError(`${source} returned ${found}, expected an object, null or undefined.`))
}
