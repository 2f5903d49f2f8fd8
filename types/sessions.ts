/**
 * A session as a store keeps it. Times are seconds since 1970 with a fraction, by the clock of the store.
 */
export interface StoredSession {
  /** Names the session: the claim `sid` of its tokens. */
  readonly sid: string
  /** The user of the session: the claim `sub` of its tokens, as a string. */
  readonly sub: string
  /** When the user logged in. */
  readonly created: number
  /** When its refresh token was last exchanged; before the first exchange, the time of the login. */
  readonly lastUsed: number
  /** The time at which it expires at the latest, however often it is used. */
  readonly endsAt: number
  /** The address of the client that logged in. */
  readonly address: string
  /** The header `User-Agent` of the login, cut at 256 characters; empty if there was none. */
  readonly userAgent: string
  /** A string of the plugin, at most 1,024 characters, which the store returns unchanged. */
  readonly data: string
}

/** A session that begins. Digests are SHA-256 in base64url; a store never gets a refresh token. */
export interface NewSession extends Omit<StoredSession, 'created' | 'lastUsed' | 'endsAt'> {
  /** Digest of the part that all refresh tokens of the session share, by which it is found. */
  readonly handle: string
  /** Digest of the first refresh token. */
  readonly current: string
  /** Seconds that it may live however often it is used. */
  readonly lifetime: number
  /** Seconds after its last use at which it expires. */
  readonly idle: number
  /**
   * Seconds for which a revocation of the session is kept at least: until its access tokens have expired. Of several
   * values that processes give for a session, here, in {@link Swap} and in `revoke`, the largest counts.
   */
  readonly revocationTtl: number
  /** How many sessions the user may have, with this one. */
  readonly maxPerUser: number
  /**
   * Seconds for which `sid` must not be used again, whatever becomes of the session: its login is one that may begin one
   * session. 0 for other logins.
   */
  readonly once: number
}

/** The result of {@link SessionStore.create}. */
export interface CreatedSession extends StoreTime {
  /** The sessions of the user that this call has revoked. */
  readonly revoked: readonly Revocation[]
  /**
   * The last revocation of all sessions of the user, read after the session was stored; null for none within an hour.
   */
  readonly userRevocation: UserRevocation | null
}

/** A revocation of all sessions of a user: a login that had begun before leaves none. */
export interface UserRevocation {
  /** Seconds since 1970 by the clock of the store. */
  readonly at: number
  /** The process that asked for it: see {@link SessionStore.revoke}. */
  readonly by: string
}

/** One use of a refresh token: an atomic compare-and-swap. */
export interface Swap {
  /** Digest of the part that all refresh tokens of the session share. */
  readonly handle: string
  /** Digest of the token that was presented. */
  readonly presented: string
  /** Digest of the token that is to follow. */
  readonly next: string
  /** The token that is to follow, encrypted so that only the presented one decrypts it. */
  readonly sealed: string
  /** Seconds after its first use in which the last token before the current one gets the same successor again. */
  readonly grace: number
  /** Seconds after this use at which the session expires, unless it is used again. */
  readonly idle: number
  /** The swap must not be made from this time on: seconds since 1970 by the clock of the store. */
  readonly deadline: number
  /** See {@link NewSession}. It counts for uses that are `swapped` or `repeated` too, which give access tokens. */
  readonly revocationTtl: number
}

/** The result of a use of a refresh token. */
export type Swapped = SwapDone | SwapRepeated | SwapWithout

/** A use of a refresh token that has changed its session. */
export interface SwapDone extends StoreTime {
  /**
   * `swapped`: the token was the current one, and `next` is the current one now. `reused`: it was an older token of the
   * session, and not the last one within the grace; this call has revoked the session.
   */
  readonly outcome: 'swapped' | 'reused'
  /** The session after the call. */
  readonly session: StoredSession
}

/** A use of the last token before the current one, within the grace. It has changed nothing but `revocationTtl`. */
export interface SwapRepeated extends StoreTime {
  /** The token gets the same successor as at its first use. */
  readonly outcome: 'repeated'
  /** The session of the token. */
  readonly session: StoredSession
  /** The string that was sealed at the first use of the token. */
  readonly sealed: string
}

/** A use of a refresh token that has changed nothing. */
export interface SwapWithout {
  /** `unknown`: there is no such session, or it has expired. `late`: the deadline had passed. */
  readonly outcome: 'unknown' | 'late'
}

/** A session that was revoked. */
export interface Revocation {
  /** The session. */
  readonly sid: string
  /** When all access tokens of the session have expired: the time of the revocation and `revocationTtl`, seconds since 1970 by the clock of the store. */
  readonly until: number
}

/** Gets from a store the sessions that any process has revoked. */
export interface SessionWatcher {
  /** Revocations that this process may not know yet; some may come twice. */
  revoked(revocations: readonly Revocation[], now: number): void
  /** Called by the store when it has reported all revocations up to now: after the start, and each time it is available again. */
  caughtUp(): void
  /** The store cannot be reached: from now on revocations may be missed, until the next `caughtUp`. */
  lost(error: unknown): void
}

/** The time of a store. */
export interface StoreTime {
  /** Seconds since 1970 with a fraction. */
  readonly now: number
}

/** The sessions that are meant: one, or all of a user. */
export type SessionOrUser = Pick<StoredSession, 'sid'> | Pick<StoredSession, 'sub'>

/** The session of a refresh token. */
export interface FoundSession extends StoreTime {
  /** The session; null if there is none, or it has expired. */
  readonly session: StoredSession | null
}

/**
 * The sessions of one registration in a store. Every method rejects when the store cannot be reached, and never returns
 * as if there were no session. The plugin waits five seconds at most. Strings are well-formed, without control
 * characters, and at most 1,024 characters long.
 */
export interface SessionStore {
  /**
   * Keeps a session that begins. If the user has more than `maxPerUser` then, the oldest ones by `created` are
   * revoked, however many processes create sessions at the same time.
   *
   * @returns null where {@link NewSession.once} is not 0 and `sid` was used: of several calls at the same time, one begins
   * a session. Nothing has changed then
   */
  create(session: NewSession): Promise<CreatedSession | null>
  /** The session of a refresh token, whether it is the current one or an older one; null if there is none. */
  find(handle: string): Promise<FoundSession>
  /** Exchanges a refresh token for its successor, or returns why not. */
  swap(swap: Swap): Promise<Swapped>
  /**
   * Revokes sessions: one, or all of a user. Those that have expired do not count. For all of a user, it first keeps for
   * an hour at least that and when it did so, so that of a `create` at the same time either the session is revoked, or
   * the result tells of the revocation.
   *
   * @param revocationTtl - seconds for which the revocations are kept and reported at least: see {@link NewSession}
   * @param by - for all of a user: names the process, in at most 128 characters
   * @returns the sessions that this call has revoked
   */
  revoke(which: SessionOrUser, revocationTtl: number, by?: string): Promise<readonly Revocation[]>
  /** The sessions of a user that have not expired, the newest first. */
  list(sub: string): Promise<readonly StoredSession[]>
  /**
   * Reports what is revoked, in this process and in others, within a second. It returns at once and does not throw;
   * `caughtUp` or `lost` follows within seconds.
   */
  watch(watcher: SessionWatcher): void
  /** Stops what {@link watch} has begun. Connections that the app gave stay open. */
  close(): Promise<void>
  /**
   * Called at startup where logins need {@link NewSession.once}.
   *
   * @throws (rejects) ERR_AUTH_OPTION where the tables of an earlier version have no place for it
   */
  requireOnce?(): Promise<void>
}

/** The place in which sessions are kept: the option `sessions.store`. */
export interface SessionStoreFactory {
  /** The name of the app, with which the names of all records and channels in the store begin. */
  readonly prefix: string
  /** Whether sessions are kept in the memory of one process, which others do not share. */
  readonly isLocal: boolean
  /** Whether its stores know {@link NewSession.once}, which the option `mailLogin` needs. Default false. */
  readonly once?: boolean | undefined
  /** A sentence for the log if the store does not work when the app starts: how it is set up. */
  readonly help?: string | undefined
  /**
   * The sessions of one registration. Called once for each at startup.
   *
   * @param name - the name of the registration; with `prefix` it tells the sessions of registrations apart
   */
  open(name: string): SessionStore
}
