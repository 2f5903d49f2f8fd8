/**
 * What a store keeps of a session. Times are seconds since 1970 with a fraction, by the clock of the store.
 */
export interface StoredSession {
  /** Names the session: the claim `sid` of its tokens. */
  readonly sid: string
  /** Whose session it is: the claim `sub` of its tokens, as a string. */
  readonly sub: string
  /** When the login was. */
  readonly created: number
  /** When its refresh token was last exchanged; the time of the login before that. */
  readonly lastUsed: number
  /** When it ends at the latest, however often it is used. */
  readonly endsAt: number
  /** The address of the client that logged in. */
  readonly address: string
  /** The header `User-Agent` of the login, cut at 256 characters; empty where there was none. */
  readonly userAgent: string
  /** A string of the plugin, at most 1,024 characters, which the store returns unchanged. */
  readonly data: string
}

/** A session that begins. Digests are SHA-256 in base64url; a store never gets a refresh token. */
export interface NewSession extends Omit<StoredSession, 'created' | 'lastUsed' | 'endsAt'> {
  /** Digest of the part that all refresh tokens of the session share. The session is found by it. */
  readonly handle: string
  /** Digest of the first refresh token. */
  readonly current: string
  /** Seconds that it may live however often it is used. */
  readonly lifetime: number
  /** Seconds after its last use at which it ends. */
  readonly idle: number
}

/** One use of a refresh token: compare and swap, in one step that nothing can come between. */
export interface Swap {
  /** Digest of the part that all refresh tokens of the session share. */
  readonly handle: string
  /** Digest of the token that was presented. */
  readonly presented: string
  /** Digest of the token that is to follow. */
  readonly next: string
  /** The token that is to follow, encrypted so that only the presented one opens it. */
  readonly sealed: string
  /** For so many seconds after its first use, the last token before the current one gets the same successor again. */
  readonly grace: number
  /** Seconds after this use at which the session ends, unless it is used again. */
  readonly idle: number
  /** Seconds since 1970 by the clock of the store. At that time and later, the swap must not be made. */
  readonly deadline: number
  /** Seconds for which the end of the session is kept where this use ends it: see {@link SessionEnd}. */
  readonly keepEnd: number
}

/** The result of a use of a refresh token. */
export type Swapped = SwapDone | SwapRepeated | SwapWithout

/** A use of a refresh token that has changed its session. */
export interface SwapDone extends StoreTime {
  /**
   * `swapped`: the token was the current one, and `next` is the current one now. `reused`: it was an older token of the
   * session, and not the last one within the grace; this call has ended the session.
   */
  readonly outcome: 'swapped' | 'reused'
  /** As it is after the call. */
  readonly session: StoredSession
}

/** A use of the last token before the current one, within the grace. It has changed nothing. */
export interface SwapRepeated extends StoreTime {
  /** The token gets the same successor as at its first use. */
  readonly outcome: 'repeated'
  /** The session of the token. */
  readonly session: StoredSession
  /** What was sealed at the first use of the token. */
  readonly sealed: string
}

/** A use of a refresh token that has changed nothing. */
export interface SwapWithout {
  /** `unknown`: there is no such session, or it is over. `late`: the deadline had passed. */
  readonly outcome: 'unknown' | 'late'
}

/** A session that was ended before its time, and until when its access tokens have to be refused. */
export interface SessionEnd {
  /** The session. */
  readonly sid: string
  /** Seconds since 1970 by the clock of the store: no token of the session lives longer. */
  readonly until: number
}

/** What a store tells of the sessions that any process has ended. */
export interface SessionWatcher {
  /** Ends that this process may not know yet; some may come twice. */
  ended(ends: readonly SessionEnd[], now: number): void
  /** Everything that was ended up to now has been told: after the start, and after each time the store was away. */
  caughtUp(): void
  /** The store cannot be reached: from now on ends may be missed, until the next `caughtUp`. */
  lost(error: unknown): void
}

/** The time of a store. */
export interface StoreTime {
  /** Seconds since 1970 with a fraction. */
  readonly now: number
}

/** Which sessions are meant: one, or all of a user. */
export type SessionChoice =
  | {
      /** The name of the session. */
      readonly sid: string
    }
  | {
      /** The user of the sessions. */
      readonly sub: string
    }

/** What a store knows of a refresh token. */
export interface FoundSession extends StoreTime {
  /** Null where there is none, or it is over. */
  readonly session: StoredSession | null
}

/**
 * The sessions of one registration in a store. Every method rejects when the store cannot be reached or does not
 * answer in time; it never answers as if there were no session then.
 */
export interface SessionStore {
  /** Keeps a session that begins. */
  create(session: NewSession): Promise<StoreTime>
  /** The session that a refresh token belongs to, whichever of its tokens it is; null where there is none. */
  find(handle: string): Promise<FoundSession>
  /** Exchanges a refresh token for its successor, or says why not. */
  swap(swap: Swap): Promise<Swapped>
  /**
   * Ends sessions: one, or all of a user. Those that are over already do not count.
   *
   * @param keepEnd - seconds for which the ends are kept and told
   * @returns the sessions that were ended by this call
   */
  end(which: SessionChoice, keepEnd: number): Promise<readonly SessionEnd[]>
  /** The sessions of a user that are not over, the newest first. */
  list(sub: string): Promise<readonly StoredSession[]>
  /** Tells what is ended, in this process and in others, within a second. Resolves at once; `caughtUp` follows. */
  watch(watcher: SessionWatcher): Promise<void>
  /** Ends what {@link watch} has begun. Connections that the app gave stay open. */
  close(): Promise<void>
}

/** Where sessions are kept: the option `sessions.store`. */
export interface SessionStoreFactory {
  /** What the names of all records and channels in the store begin with. */
  readonly prefix: string
  /** Whether sessions are kept in the memory of one process, which others do not share. */
  readonly isLocal: boolean
  /**
   * The sessions of one registration. Called once for each while the app boots.
   *
   * @param name - the name of the registration; with `prefix` it tells the sessions of registrations apart
   */
  open(name: string): SessionStore
}
