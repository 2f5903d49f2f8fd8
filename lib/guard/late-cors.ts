import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'

/**
 * Where a scope keeps them. Global, since the copy of the package that notes them need not be the one whose plugin is
 * registered.
 */
export const kLateCors: unique symbol = Symbol.for('fastify-authn.late-cors')

/** A hook of @fastify/cors: in some stages a payload comes before `done`, which it does not look at. */
export type LateCorsHook = (
  request: FastifyRequest,
  reply: FastifyReply,
  ...rest: [HookHandlerDoneFunction] | [unknown, HookHandlerDoneFunction]
) => unknown

/**
 * Lets the hooks of @fastify/cors that come after the guard set their headers, before the guard ends a request:
 * without them no page of another origin can read why it was refused. The end follows whatever they do.
 *
 * @param end - refuses the request
 */
export function afterLateCors(request: FastifyRequest, reply: FastifyReply, end: () => void): void {
  // To an OPTIONS request the hook would give an answer of its own.
  const hooks = request.raw.method === 'OPTIONS' ? [] : hooksOf(request.server)
  run(hooks, request, reply, end)
}

function run(
  [hook, ...others]: readonly LateCorsHook[],
  request: FastifyRequest,
  reply: FastifyReply,
  end: () => void,
): void {
  if (hook === undefined) return end()
  let isDone = false
  const next = (error?: Error | null): void => {
    // A function that decides about origins may answer twice.
    if (isDone) return
    isDone = true
    if (error) warn(request, error)
    run(others, request, reply, end)
  }
  try {
    if (hook.length === 4) hook.call(request.server, request, reply, null, next)
    else hook.call(request.server, request, reply, next)
  } catch (error) {
    // Not of the hook, but of what came after it.
    if (isDone) throw error
    next(error as Error)
  }
}

function warn(request: FastifyRequest, error: unknown): void {
  request.log.warn({ err: error }, '@fastify/cors failed; the refusal goes out without its headers')
}

/** The hooks of a scope and of those around it, from the outside to the inside. */
function hooksOf(scope: object | null): LateCorsHook[] {
  if (scope === null) return []
  const own = Object.hasOwn(scope, kLateCors)
    ? (scope as { [kLateCors]: LateCorsHook[] })[kLateCors]
    : []
  return [...hooksOf(Object.getPrototypeOf(scope) as object | null), ...own]
}
