import { defaults } from '../../options/resolve.js'
import type {
  NewSession,
  Revocation,
  SessionChoice,
  SessionStore,
  SessionStoreFactory,
  SessionWatcher,
  StoredSession,
  Swap,
  Swapped,
} from '../../../types/sessions.js'

/** Options of {@link memorySessions}. */
export interface MemorySessionsOptions {
  /** Tells the sessions of several apps with this object apart. Default `fastify-authn`. */
  readonly prefix?: string | undefined
  /** Returns seconds since 1970, for tests. Default: the clock of the system. */
  readonly now?: (() => number) | undefined
}

/**
 * Keeps sessions in the memory of this process, for development, tests, and apps of one process that may log
 * all users out when they restart. Apps of one process that are given the same object share their sessions.
 *
 * @example
 * await app.register(authn, { userService, jwt, sessions: { store: memorySessions() } })
 */
export function memorySessions(options: MemorySessionsOptions = {}): SessionStoreFactory {
  const { prefix = defaults.memorySessions.prefix, now = () => Date.now() / 1000 } = options
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

/** The store of one registration. Its methods are atomic, because they await nothing. */
function storeOver(space: MemorySpace): SessionStore {
  const watchers = new Set<SessionWatcher>()
  return {
    create: async (session) => space.create(session),
    find: async (handle) => space.find(handle),
    swap: async (swap) => space.swap(swap),
    revoke: async (which, revocationTtl) => space.revoke(which, revocationTtl),
    list: async (sub) => space.list(sub),
    watch(watcher) {
      watchers.add(watcher)
      space.watch(watcher)
    },
    async close() {
      for (const watcher of watchers) space.watchers.delete(watcher)
    },
  }
}

type Answer<Method extends keyof SessionStore> = Awaited<ReturnType<SessionStore[Method]>>

/** A session, with its refresh tokens. */
interface Entry {
  readonly handle: string
  session: StoredSession
  current: string
  /** The predecessor of the current token, with its sealed successor and the end of its grace. */
  previous: { readonly digest: string; sealed: string; readonly until: number } | null
  /** When the session expires unless it is used. */
  expires: number
  revocationTtl: number
}

/** Seconds between two searches for what has expired. */
const sweepEvery = 60

/** The sessions of all stores with one name. */
class MemorySpace {
  readonly watchers = new Set<SessionWatcher>()
  readonly #now: () => number
  readonly #byHandle = new Map<string, Entry>()
  readonly #bySid = new Map<string, Entry>()
  readonly #bySub = new Map<string, Set<Entry>>()
  /** By `sid`, until when a revocation is reported to new watchers. */
  readonly #revocations = new Map<string, number>()
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(now: () => number) {
    this.#now = now
  }

  create(begins: NewSession): Answer<'create'> {
    const { handle, current, lifetime, idle, revocationTtl, maxPerUser, ...given } = begins
    const now = this.#now()
    this.#sweep(now)
    const session = { ...given, created: now, lastUsed: now, endsAt: now + lifetime }
    const expires = now + Math.min(lifetime, idle)
    const entry: Entry = { handle, session, current, previous: null, expires, revocationTtl }
    const older = this.#alive(session.sub, now)
    const revoked = this.#revoke(older.slice(0, Math.max(0, older.length + 1 - maxPerUser)), 0, now)
    this.#byHandle.set(handle, entry)
    this.#bySid.set(session.sid, entry)
    const others = this.#bySub.get(session.sub) ?? new Set()
    this.#bySub.set(session.sub, others.add(entry))
    return { now, revoked }
  }

  find(handle: string): Answer<'find'> {
    const now = this.#now()
    const entry = this.#byHandle.get(handle)
    return { session: entry !== undefined && now < entry.expires ? entry.session : null, now }
  }

  swap({ handle, presented, next, sealed, grace, idle, deadline, revocationTtl }: Swap): Swapped {
    const now = this.#now()
    if (now >= deadline) return { outcome: 'late' }
    const entry = this.#byHandle.get(handle)
    if (entry === undefined || now >= entry.expires) return { outcome: 'unknown' }
    const { session, previous } = entry
    entry.revocationTtl = Math.max(entry.revocationTtl, revocationTtl)
    if (presented === entry.current) {
      entry.previous = { digest: presented, sealed, until: now + grace }
      entry.current = next
      entry.session = { ...session, lastUsed: now }
      entry.expires = Math.min(session.endsAt, now + idle)
      return { outcome: 'swapped', session: entry.session, now }
    }
    if (presented === previous?.digest && now < previous.until) {
      return { outcome: 'repeated', session, sealed: previous.sealed, now }
    }
    this.#revoke([entry], revocationTtl, now)
    return { outcome: 'reused', session, now }
  }

  revoke(which: SessionChoice, revocationTtl: number): Revocation[] {
    const now = this.#now()
    if ('sub' in which) return this.#revoke(this.#alive(which.sub, now), revocationTtl, now)
    const entry = this.#bySid.get(which.sid)
    const isAlive = entry !== undefined && now < entry.expires
    return this.#revoke(isAlive ? [entry] : [], revocationTtl, now)
  }

  list(sub: string): StoredSession[] {
    const alive = this.#alive(sub, this.#now())
    return alive.map(({ session }) => session).toReversed()
  }

  watch(watcher: SessionWatcher): void {
    this.watchers.add(watcher)
    const revocations = [...this.#revocations].map(([sid, until]) => ({ sid, until }))
    watcher.revoked(revocations, this.#now())
    watcher.caughtUp()
  }

  /** The oldest first. */
  #alive(sub: string, now: number): Entry[] {
    return [...(this.#bySub.get(sub) ?? [])].filter(({ expires }) => now < expires)
  }

  #revoke(entries: readonly Entry[], revocationTtl: number, now: number): Revocation[] {
    const revocations = entries.map(({ session: { sid }, revocationTtl: own }) => ({
      sid,
      until: now + Math.max(own, revocationTtl),
    }))
    for (const entry of entries) this.#remove(entry)
    for (const { sid, until } of revocations) this.#revocations.set(sid, until)
    for (const watcher of this.watchers) watcher.revoked(revocations, now)
    return revocations
  }

  #remove(entry: Entry): void {
    const { sid, sub } = entry.session
    this.#byHandle.delete(entry.handle)
    this.#bySid.delete(sid)
    const others = this.#bySub.get(sub)
    others?.delete(entry)
    if (others?.size === 0) this.#bySub.delete(sub)
  }

  /** Drops what has expired, once a minute at most, since it looks at everything. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < sweepEvery) return
    this.#sweptAt = now
    for (const entry of this.#byHandle.values()) {
      if (now >= entry.expires) this.#remove(entry)
      else if (entry.previous !== null && now >= entry.previous.until) entry.previous.sealed = ''
    }
    for (const [sid, until] of this.#revocations) if (now >= until) this.#revocations.delete(sid)
  }
}
