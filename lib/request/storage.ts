import { AsyncResource, type AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyRequest } from 'fastify'
import type { AuthUser } from '../../types/user-service.js'

/** What the `AsyncLocalStorage` holds. */
export interface Store {
  readonly user: AuthUser | null
}

const key = Symbol.for('fastify-authn.context')
const shared = globalThis as { [key]?: AsyncLocalStorage<Store> }

/**
 * Makes the storage of the context, unless it is there already. Only the entry point `fastify-authn/context`
 * calls this: on Node 20 and 22 a storage that is in use slows down every request of the process. There
 * is one a process, so that all copies of the package see the same user.
 */
export function switchOn(create: () => AsyncLocalStorage<Store>): AsyncLocalStorage<Store> {
  return (shared[key] ??= create())
}

/** Calls `next` with the user in the context. */
export function runWithUser(request: FastifyRequest, user: AuthUser, next: () => void): void {
  const storage = shared[key]
  if (storage === undefined) next()
  else run(storage, request, user, next)
}

/**
 * Calls `next` without a user in the context. There can be one from outside: when a handler calls
 * `app.inject()`, or when the server was started inside of `runAs`.
 */
export function runWithoutUser(request: FastifyRequest, next: () => void): void {
  const storage = shared[key]
  if (storage?.getStore() === undefined) next()
  else run(storage, request, null, next)
}

function run(
  storage: AsyncLocalStorage<Store>,
  { raw }: FastifyRequest,
  user: AuthUser | null,
  next: () => void,
): void {
  storage.run({ user }, () => {
    // Node emits the events of a body in the context of the connection. Without this, what a content-type
    // parser does in them would have the user or not, depending on how the body arrives.
    const mayHaveBody = raw.method !== 'GET' && raw.method !== 'HEAD'
    if (mayHaveBody) raw.emit = AsyncResource.bind(raw.emit.bind(raw))
    next()
  })
}
