import { AsyncLocalStorage } from 'node:async_hooks'
import { isError, isThenable } from '../common/objects.js'
import { AuthnUsageError } from '../errors.js'
import { switchOn, type Store } from './state.js'
import type { AuthUser } from '../../types/user-service.js'

const storage = switchOn(() => new AsyncLocalStorage<Store>())

/**
 * The user for whom the caller works: in a handler and in whatever it awaits or starts, the user of the
 * request; inside of {@link runAs}, the user given there. For log lines and audit fields.
 *
 * Never decide by it who may do what: a callback runs in the context of whoever opened the connection, the
 * pool or the stream that calls it, which can be another user.
 *
 * @returns the same object as `request.user`; null where nobody is authenticated, and outside of requests
 */
export function userFromContext<User extends object = AuthUser>(): User | null {
  return (storage.getStore()?.user ?? null) as User | null
}

/**
 * Does work in the name of a user, outside of a request or inside of one: a job, a script, a test. Whatever
 * the work awaits or starts has the user too; afterwards the context is as it was before.
 *
 * @param user - what {@link userFromContext} returns then, as it is: leave the password hash out; null for nobody
 * @param work - is called at once, without arguments
 * @returns what `work` returns: of an async function, its promise
 * @throws ERR_AUTH_CONTEXT when the user is no object, or the work no function; what `work` throws
 *
 * @example
 * await runAs(owner, () => sendReport())
 */
export function runAs<Result>(user: AuthUser | null, work: () => Result): Result {
  if (isThenable(user)) misuse('found a promise as the user. Await it.')
  if (typeof user !== 'object' || Array.isArray(user) || isError(user)) {
    misuse('expected the user as an object, or null for nobody.')
  }
  if (typeof work !== 'function') misuse('expected a function as the second argument.')
  return storage.run({ user }, () => work())
}

function misuse(problem: string): never {
  throw new AuthnUsageError('ERR_AUTH_CONTEXT', `runAs(): ${problem}`)
}
