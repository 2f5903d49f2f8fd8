import { defaults } from '../../options/defaults.js'
import { openOnce } from '../../stores/memory.js'
import type {
  Revocation,
  SessionStore,
  SessionStoreFactory,
  SessionWatcher,
  StoredSession,
  UserRevocation,
} from '../../../types/sessions.js'

/** Options of {@link memorySessions}. */
export interface MemorySessionsOptions {
  /** Tells the sessions of several apps with this object apart. Default `fastify-authn`. */
  readonly prefix?: string | undefined
  /** Returns seconds since 1970, for tests. Default: the clock of the system. */
  readonly now?: (() => number) | undefined
}

/**
 * Keeps sessions in the memory of this process, for development, tests, and apps of one process that may log all users
 * out when they restart. Apps of one process that are given the same object share their sessions.
 * @example
 * await app.register(authn, { userService, jwt, sessions: { store: memorySessions() } })
 */
export function memorySessions(options: MemorySessionsOptions = {}): SessionStoreFactory {
  const { prefix = defaults.memoryPrefix, now = () => Date.now() / 1000 } = options
  const spaceOf = openOnce(() => memorySpace(now))
  return { prefix, isLocal: true, once: true, open: (name) => spaceOf(name)() }
}

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

const hour = 3600

/** Seconds between two searches for what has expired, since they look at everything. */
const sweepEvery = 60

/** @returns a function that opens stores of the same sessions. Their methods are atomic, because they await nothing */
function memorySpace(clock: () => number): () => SessionStore {
  const watchers = new Map<SessionStore, SessionWatcher>()
  const byHandle = new Map<string, Entry>()
  const bySid = new Map<string, Entry>()
  /** The sessions of each `sub`, the oldest first. */
  const bySub = new Map<string, Set<Entry>>()
  /** The time until which the revocation of each `sid` is reported to new watchers. */
  const revocations = new Map<string, number>()
  const userRevocations = new Map<string, UserRevocation>()
  /** The time until which each `sid` of a login with `once` must not be used again. */
  const used = new Map<string, number>()
  let sweptAt = Number.NEGATIVE_INFINITY

  const alive = (entries: Iterable<Entry | undefined>, now: number): Entry[] =>
    [...entries].filter((entry) => entry !== undefined && now < entry.expires) as Entry[]
  const ofUser = (sub: string, now: number): Entry[] => alive(bySub.get(sub) ?? [], now)

  function remove(entry: Entry): void {
    const { sid, sub } = entry.session
    byHandle.delete(entry.handle)
    bySid.delete(sid)
    const others = bySub.get(sub)
    others?.delete(entry)
    if (others?.size === 0) bySub.delete(sub)
  }

  function revoke(entries: readonly Entry[], ttl: number, now: number): Revocation[] {
    entries.forEach(remove)
    const revoked = entries.map(({ session: { sid }, revocationTtl }) => ({
      sid,
      until: now + Math.max(revocationTtl, ttl),
    }))
    for (const { sid, until } of revoked) revocations.set(sid, until)
    for (const watcher of watchers.values()) watcher.revoked(revoked, now)
    return revoked
  }

  function sweep(now: number): void {
    if (now - sweptAt < sweepEvery) return
    sweptAt = now
    for (const entry of byHandle.values()) {
      if (now >= entry.expires) remove(entry)
      else if (entry.previous !== null && now >= entry.previous.until) entry.previous.sealed = ''
    }
    for (const [sid, until] of revocations) if (now >= until) revocations.delete(sid)
    for (const [sid, until] of used) if (now >= until) used.delete(sid)
    for (const [sub, { at }] of userRevocations) if (now >= at + hour) userRevocations.delete(sub)
  }

  return () => {
    const store: SessionStore = {
      async create({ handle, current, lifetime, idle, revocationTtl, maxPerUser, once, ...given }) {
        const now = clock()
        sweep(now)
        if (once > 0) {
          if (now < (used.get(given.sid) ?? 0)) return null
          used.set(given.sid, now + once)
        }
        const session = { ...given, created: now, lastUsed: now, endsAt: now + lifetime }
        const expires = now + Math.min(lifetime, idle)
        const entry = { handle, session, current, previous: null, expires, revocationTtl }
        const older = ofUser(session.sub, now)
        const revoked = revoke(older.slice(0, Math.max(0, older.length + 1 - maxPerUser)), 0, now)
        byHandle.set(handle, entry)
        bySid.set(session.sid, entry)
        bySub.set(session.sub, (bySub.get(session.sub) ?? new Set()).add(entry))
        return { now, revoked, userRevocation: userRevocations.get(session.sub) ?? null }
      },
      async find(handle) {
        const now = clock()
        const [entry] = alive([byHandle.get(handle)], now)
        return { session: entry?.session ?? null, now }
      },
      async swap({ handle, presented, next, sealed, grace, idle, deadline, revocationTtl }) {
        const now = clock()
        if (now >= deadline) return { outcome: 'late' }
        const [entry] = alive([byHandle.get(handle)], now)
        if (entry === undefined) return { outcome: 'unknown' }
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
        revoke([entry], 0, now)
        return { outcome: 'reused', session, now }
      },
      async revoke(which, revocationTtl, by = '') {
        const now = clock()
        sweep(now)
        if ('sub' in which) userRevocations.set(which.sub, { at: now, by })
        const entries = 'sub' in which ? ofUser(which.sub, now) : alive([bySid.get(which.sid)], now)
        return revoke(entries, revocationTtl, now)
      },
      list: async (sub) =>
        ofUser(sub, clock())
          .map(({ session }) => session)
          .toReversed(),
      watch(watcher) {
        watchers.set(store, watcher)
        watcher.revoked(
          [...revocations].map(([sid, until]) => ({ sid, until })),
          clock(),
        )
        watcher.caughtUp()
      },
      close: async () => void watchers.delete(store),
    }
    return store
  }
}
