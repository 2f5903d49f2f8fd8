/**
 * The current user without the request.
 * @module fastify-authn/context
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { isThenable } from '../common/objects.js'
import { AuthnUsageError } from '../errors/errors.js'
import { kContext, shared } from './state.js'
import type { AuthUser } from '../../types/user-service.js'

const storage = (shared[kContext] ??= new AsyncLocalStorage())

/**
 * The current user: in a handler and in whatever it awaits or starts, the user of the request; inside of {@link runAs},
 * the user given there. For log lines and audit fields.
 *
 * Do not use it for authorization: a callback runs in the context that opened the connection, pool or stream which
 * calls it, and that may be another user's.
 * @returns the same object as `request.user`, unless the app has replaced that; null in anonymous requests and outside of
 * requests
 */
export function userFromContext<User extends object = AuthUser>(): User | null {
  return (storage.getStore()?.user ?? null) as User | null
}

/**
 * Runs a function as a user, outside of a request or inside of one: a job, a script, a test. Whatever the function awaits
 * or starts has that user too.
 * @param user - returned as it is by {@link userFromContext}, so leave the password hash out; null for none
 * @param work - called at once, without arguments
 * @returns what `work` returns
 * @throws ERR_AUTH_CONTEXT when the user is no object, or `work` is no function; what `work` throws
 * @example
 * await runAs(owner, () => sendReport())
 */
export function runAs<Result>(user: AuthUser | null, work: () => Result): Result {
  if (isThenable(user)) misuse('found a promise as the user. Await it.')
  if (typeof user !== 'object' || Array.isArray(user) || user instanceof Error) {
    misuse('expected the user as an object, or null for none.')
  }
  if (typeof work !== 'function') misuse('expected a function as the second argument.')
  return storage.run({ user }, () => work())
}

function misuse(problem: string): never {
  throw new AuthnUsageError('ERR_AUTH_CONTEXT', `runAs(): ${problem}`)
}
