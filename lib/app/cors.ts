import type { FastifyInstance } from 'fastify'
import { kLateCors, type LateCorsHook } from '../guard/late-cors.js'
import { isLoadingCors, wrapMethod } from './fastify.js'

/** The hooks that the option `hook` of @fastify/cors can name. */
const stages: ReadonlySet<unknown> = new Set([
  'onRequest',
  'preParsing',
  'preValidation',
  'preHandler',
  'preSerialization',
])

/**
 * Remembers, for each scope, the hooks of @fastify/cors that run later than the guard. When the guard refuses a
 * request, it runs them first, so that the browser may read the refusal: see `lib/guard/late-cors.ts`.
 *
 * @param isGuarded - whether the guard's hook is added already: later `onRequest` hooks then run after it
 */
export function watchCors(root: FastifyInstance, isGuarded: () => boolean): void {
  const seen = new WeakMap<FastifyInstance, string>()
  wrapMethod(root, 'addHook', (scope, args, addHook) => {
    const added = addHook(...args)
    const [stage, hook] = args
    const { pluginName } = scope
    if (stages.has(stage) && isLoadingCors(scope) && seen.get(scope) !== pluginName) {
      seen.set(scope, pluginName)
      if (stage !== 'onRequest' || isGuarded()) note(scope, hook as LateCorsHook)
    }
    return added
  })
}

function note(scope: FastifyInstance & { [kLateCors]?: LateCorsHook[] }, hook: LateCorsHook): void {
  const known = Object.hasOwn(scope, kLateCors) ? (scope[kLateCors] ?? []) : []
  Object.defineProperty(scope, kLateCors, { value: [...known, hook], configurable: true })
}
