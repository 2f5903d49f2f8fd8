import type { FastifyRequest } from 'fastify'
import { AuthenticationError, AuthenticationFault, refusal } from './errors.js'
import { controlCharacter } from './http/authorization.js'
import { isError, isThenable } from './objects.js'
import type { Verdict } from './verdict.js'
import type { UserService } from '../types/user-service.js'

/** Longer names are nobody's: no look-up is worth them. Characters. */
const longestName = 1024

/**
 * Whether a value may be handed to a user service: a non-empty, well-formed string without control
 * characters, or a finite number. Databases refuse NUL with an error, and an ORM that is asked for
 * `undefined` returns its first row.
 */
export function isUsableName(name: unknown): name is string | number {
  if (typeof name === 'number') return Number.isFinite(name)
  return (
    typeof name === 'string' &&
    name !== '' &&
    name.length <= longestName &&
    name.isWellFormed() &&
    !controlCharacter.test(name)
  )
}

type Found = object | null

/**
 * Asks the user service, and goes on with its answer. That is awaited only when it is a promise, and then
 * once: the hot path of a service that answers at once stays synchronous.
 *
 * @param timeout - seconds after which the service counts as not answering
 * @param use - what to do with the user, or with null when there is none; default: to return it
 * @returns what `use` returns, or a promise of it
 * @throws AuthenticationFault (or a rejection with it) when the service fails or returns what is no user;
 * ERR_AUTH_USER_SERVICE_TIMEOUT; what `use` throws
 */
export function findUser<Result = Found>(
  service: UserService,
  username: string | number,
  request: FastifyRequest,
  timeout?: number,
  use: (user: Found) => Result | Promise<Result> = (user) => user as Result,
): Result | Promise<Result> {
  const answer = ask(service, username, request, timeout)
  if (!(answer instanceof Promise)) return use(checkUser(answer))
  return answer.then(
    (user: unknown) => use(checkUser(user)),
    (error: unknown) => {
      throw faultOf(error)
    },
  )
}

/**
 * Asks the user service for somebody who has proved who they are, and hands the answer on. That there is
 * nobody of the name is a refusal then.
 *
 * @param timeout - see {@link findUser}
 */
export function handUser(
  service: UserService,
  username: string | number,
  request: FastifyRequest,
  timeout: number | undefined,
  verdict: Verdict,
): void {
  const hand = (found: unknown): void => {
    let user: object
    try {
      user = known(checkUser(found))
    } catch (error) {
      return verdict.fail(error)
    }
    verdict.pass(user)
  }
  let answer: unknown
  try {
    answer = ask(service, username, request, timeout)
  } catch (error) {
    return verdict.fail(error)
  }
  if (!(answer instanceof Promise)) return hand(answer)
  answer.then(hand, (error: unknown) => verdict.fail(faultOf(error)))
}

/** @throws AuthenticationError when there is nobody of the name that somebody has proved to have */
export function known(user: Found): object {
  if (user === null) throw refusal('auth.invalid-credentials')
  return user
}

/** @returns the answer, not yet checked, or a real promise of it */
function ask(
  service: UserService,
  username: string | number,
  request: FastifyRequest,
  timeout: number | undefined,
): unknown {
  try {
    const answer: unknown = service.findByUsername(username, request)
    if (!isThenable(answer)) return answer
    const settled = timeout === undefined ? answer : withTimeout(answer, timeout)
    // What only looks like a promise may throw, or settle twice.
    return settled instanceof Promise ? settled : Promise.resolve(settled)
  } catch (error) {
    throw new AuthenticationFault('ERR_AUTH_USER_SERVICE', error)
  }
}

function faultOf(error: unknown): unknown {
  if (error instanceof TimeoutRefusal) return error
  return new AuthenticationFault('ERR_AUTH_USER_SERVICE', error)
}

/** Its own class, since what the service itself throws is a fault, whatever it looks like. */
class TimeoutRefusal extends AuthenticationError {}

async function withTimeout<T>(answer: PromiseLike<T>, seconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const refuse = (): void =>
      reject(
        new TimeoutRefusal('auth.overloaded', {
          code: 'ERR_AUTH_USER_SERVICE_TIMEOUT',
          retryAfter: Math.ceil(seconds),
        }),
      )
    timer = setTimeout(refuse, seconds * 1000)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

/** An array is no user: an empty list of rows would let everybody in. */
function checkUser(user: unknown): Found {
  if (user === null || user === undefined) return null
  if (isError(user)) throw new AuthenticationFault('ERR_AUTH_USER_SERVICE', user)
  if (typeof user === 'object' && !Array.isArray(user)) return user
  const found = Array.isArray(user) ? 'an array' : `a ${typeof user}`
  throw new AuthenticationFault(
    'ERR_AUTH_USER_SERVICE',
    new TypeError(`findByUsername returned ${found}, expected an object, null or undefined.`),
  )
}
