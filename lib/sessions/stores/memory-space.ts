import type {
  NewSession,
  SessionChoice,
  SessionEnd,
  SessionStore,
  SessionWatcher,
  StoredSession,
  Swap,
  Swapped,
} from '../../../types/sessions.js'

type Answer<Method extends keyof SessionStore> = Awaited<ReturnType<SessionStore[Method]>>

/** A session with what its refresh tokens are judged by. */
interface Entry {
  readonly handle: string
  session: StoredSession
  current: string
  /** The predecessor of the current token, what it is answered with, and until when. */
  previous: { readonly digest: string; sealed: string; readonly until: number } | null
  /** When the session ends if it is not used before. */
  expires: number
}

/** Seconds between two searches for what is over. */
const sweepEvery = 60

/** The sessions of one name, in memory. */
export class MemorySpace {
  readonly #now: () => number
  readonly #byHandle = new Map<string, Entry>()
  readonly #bySid = new Map<string, Entry>()
  readonly #bySub = new Map<string, Set<Entry>>()
  /** Until when each end is told to those who begin to watch. */
  readonly #ends = new Map<string, number>()
  readonly #watchers = new Set<SessionWatcher>()
  #sweptAt = Number.NEGATIVE_INFINITY

  /** @param now - seconds since 1970 */
  constructor(now: () => number) {
    this.#now = now
  }

  create({ handle, current, lifetime, idle, ...given }: NewSession): Answer<'create'> {
    const now = this.#now()
    this.#sweep(now)
    const session = { ...given, created: now, lastUsed: now, endsAt: now + lifetime }
    const expires = now + Math.min(lifetime, idle)
    const entry: Entry = { handle, session, current, previous: null, expires }
    this.#byHandle.set(handle, entry)
    this.#bySid.set(session.sid, entry)
    const others = this.#bySub.get(session.sub) ?? new Set()
    this.#bySub.set(session.sub, others.add(entry))
    return { now }
  }

  find(handle: string): Answer<'find'> {
    const now = this.#now()
    const entry = this.#byHandle.get(handle)
    return { session: entry !== undefined && now < entry.expires ? entry.session : null, now }
  }

  swap({ handle, presented, next, sealed, grace, idle, deadline, keepEnd }: Swap): Swapped {
    const now = this.#now()
    if (now >= deadline) return { outcome: 'late' }
    const entry = this.#byHandle.get(handle)
    if (entry === undefined || now >= entry.expires) return { outcome: 'unknown' }
    const { session, previous } = entry
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
    this.#end([entry], keepEnd, now)
    return { outcome: 'reused', session, now }
  }

  end(which: SessionChoice, keepEnd: number): SessionEnd[] {
    const now = this.#now()
    const found = 'sid' in which ? this.#bySid.get(which.sid) : this.#bySub.get(which.sub)
    const entries = found instanceof Set ? [...found] : [found ?? []].flat()
    return this.#end(
      entries.filter(({ expires }) => now < expires),
      keepEnd,
      now,
    )
  }

  list(sub: string): StoredSession[] {
    const now = this.#now()
    return [...(this.#bySub.get(sub) ?? [])]
      .filter(({ expires }) => now < expires)
      .map(({ session }) => session)
      .toReversed()
  }

  watch(watcher: SessionWatcher): void {
    this.#watchers.add(watcher)
    watcher.ended(
      [...this.#ends].map(([sid, until]) => ({ sid, until })),
      this.#now(),
    )
    watcher.caughtUp()
  }

  unwatch(watcher: SessionWatcher): void {
    this.#watchers.delete(watcher)
  }

  #end(entries: readonly Entry[], keepEnd: number, now: number): SessionEnd[] {
    const ends = entries.map(({ session: { sid } }) => ({ sid, until: now + keepEnd }))
    entries.forEach((entry) => this.#remove(entry))
    for (const { sid, until } of ends) this.#ends.set(sid, until)
    if (ends.length > 0) for (const watcher of this.#watchers) watcher.ended(ends, now)
    return ends
  }

  #remove(entry: Entry): void {
    const { sid, sub } = entry.session
    this.#byHandle.delete(entry.handle)
    this.#bySid.delete(sid)
    const others = this.#bySub.get(sub)
    others?.delete(entry)
    if (others?.size === 0) this.#bySub.delete(sub)
  }

  /** Drops what is over, once a minute at most: a search through all of it. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < sweepEvery) return
    this.#sweptAt = now
    for (const entry of this.#byHandle.values()) {
      if (now >= entry.expires) this.#remove(entry)
      else if (entry.previous !== null && now >= entry.previous.until) entry.previous.sealed = ''
    }
    for (const [sid, until] of this.#ends) if (now >= until) this.#ends.delete(sid)
  }
}
