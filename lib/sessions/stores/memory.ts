import { defaults } from '../../options/resolve.js'
import { MemorySpace } from './memory-space.js'
import type { SessionStore, SessionStoreFactory, SessionWatcher } from '../../../types/sessions.js'

/** Options of {@link memorySessions}. */
export interface MemorySessionsOptions {
  /** What tells the sessions of several apps apart where they share this object. Default `fastify-authn`. */
  readonly prefix?: string | undefined
  /** Seconds since 1970. Default: the clock of the system. A test can give one that it holds. */
  readonly now?: (() => number) | undefined
}

/**
 * Keeps sessions in the memory of this process, for development, tests, and apps of one process that may log
 * everybody out when they restart. Apps of one process that are given the same object share their sessions.
 *
 * @example
 * await app.register(authn, { userService, jwt, sessions: { store: memorySessions() } })
 */
export function memorySessions(options: MemorySessionsOptions = {}): SessionStoreFactory {
  const { prefix = defaults.memorySessions.prefix, now = secondsNow } = options
  const spaces = new Map<string, MemorySpace>()
  return {
    prefix,
    isLocal: true,
    open(name) {
      const space = spaces.get(name) ?? new MemorySpace(now)
      spaces.set(name, space)
      return storeOver(space)
    },
  }
}

function secondsNow(): number {
  return Date.now() / 1000
}

/** The store of one registration. The methods run to their end at once, so that nothing can come between. */
function storeOver(space: MemorySpace): SessionStore {
  const watchers = new Set<SessionWatcher>()
  return {
    create: async (session) => space.create(session),
    find: async (handle) => space.find(handle),
    swap: async (swap) => space.swap(swap),
    end: async (which, keepEnd) => space.end(which, keepEnd),
    list: async (sub) => space.list(sub),
    async watch(watcher) {
      watchers.add(watcher)
      space.watch(watcher)
    },
    async close() {
      for (const watcher of watchers) space.unwatch(watcher)
    },
  }
}
