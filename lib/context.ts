import { AsyncLocalStorage } from 'node:async_hooks'
import type { AuthUser } from '../types/user-service.js'

interface Store {
  readonly user: AuthUser | null
}

const key = Symbol.for('fastify-authn.context')
const shared = globalThis as { [key]?: AsyncLocalStorage<Store> }
/** One storage a process: the ESM and the CommonJS build of the package must see the same user. */
const storage = (shared[key] ??= new AsyncLocalStorage<Store>())

/**
 * The authenticated user of the request that the caller works for: in handlers and whatever they
 * start, such as timers, streams and database callbacks (specification, `UserFromContext`).
 *
 * @returns the same object as `request.user`; null outside of a request, or when nobody is authenticated
 */
export function userFromContext<User extends object = AuthUser>(): User | null {
  return (storage.getStore()?.user ?? null) as User | null
}

/** Goes on with a request, with its user in the context. */
export function runWithUser(user: AuthUser | null, next: () => void): void {
  storage.run({ user }, next)
}

/** Goes on with a request of nobody; only a request that another one injected has to be cut off. */
export function runWithoutUser(next: () => void): void {
  if (storage.getStore() === undefined) next()
  else storage.run({ user: null }, next)
}
