import type { FastifyInstance } from 'fastify'
import type { DeclaredRoute } from './routes.js'
import type { SharedHashing } from '../passwords/tools.js'
import type { SharedThrottles } from '../throttle/attempts.js'
import type { RequireMarksOptions } from '../../types/options.js'

/** The record of an app: a Fastify root instance with all its scopes. */
export type AppRecord = ReturnType<typeof createRecord>

export function createRecord(root: FastifyInstance, scopes: readonly FastifyInstance[]) {
  return {
    root,
    shared: { hashing: null, throttles: [] } as SharedHashing & SharedThrottles,
    instances: [...scopes],
    routes: [] as DeclaredRoute[],
    // `isVoid`: it makes no scope, so that its mark has no effect. Marks are checked when the app gets ready, since
    // nothing would catch an error of a plugin that is loaded later.
    scopes: [] as { readonly options: object; readonly mark: unknown; readonly isVoid: boolean }[],
    /** What was registered with a scope of its own. `server`: that scope, or the one around it. */
    groups: [] as { readonly options: object; readonly server: FastifyInstance }[],
    /** Hooks that are undefined in the options of `app.register`, for a warning. */
    undefinedHooks: [] as string[],
    registered: new Set<FastifyInstance>(),
    requiredMarks: new Map<FastifyInstance, RequireMarksOptions>(),
    /** True once the guard's hook was added. */
    isProtected: false,
    /** True if @fastify/cors was registered at the root before the guard's hook was added. */
    isCorsFirst: false,
    isReady: false,
  }
}
