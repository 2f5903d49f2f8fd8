import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthnEvent, OfRegistration } from './events.js'
import type { LoginBody } from './login.js'
import type { SessionStoreFactory } from './sessions.js'

/** Sessions of logged-in users: the option `sessions`. Times are in seconds. */
export interface SessionsOptions {
  /**
   * The store of the sessions. Default: the memory of this process, which other processes do not share and which a
   * restart empties.
   */
  store?: SessionStoreFactory | undefined
  /** The longest time from login until a session expires. Default 2,592,000 (30 days). */
  lifetime?: number | undefined
  /**
   * The time from its last use until a session expires. Default 1,209,600 (14 days), or `lifetime` if that is less.
   */
  idle?: number | undefined
  /**
   * How long a used refresh token still gets the same successor, 0 to 60: for clients that refresh twice at the same
   * time, or that did not get the response. Default 10.
   */
  grace?: number | undefined
  /**
   * How many sessions a user may have, 1 to 10,000. Default 100. With one more login, the oldest session is revoked: the
   * one whose login is the longest time ago.
   */
  maxPerUser?: number | undefined
  /**
   * Whether your own code begins sessions with several factors, by `begin(…, { amr: ['mfa'] })`. Startup then accepts the
   * mark `mfa` where no other option can meet it. Default `false`.
   */
  mfa?: boolean | undefined
  /**
   * Tells the sessions of several registrations apart. Each registration of an app, and each app that uses the same
   * store, needs its own. Default `default`.
   */
  name?: string | undefined
}

/** A session as `app.authn.sessions` shows it. */
export interface SessionInfo {
  /** Names the session: the claim `sid` of its tokens. It is no secret. */
  readonly sid: string
  /** When the user logged in. */
  readonly created: Date
  /**
   * When the user has authenticated at a provider, if its ID token has said so (`auth_time`): earlier than the login where
   * the provider knew the browser.
   */
  readonly authenticated?: Date
  /** When the session was last refreshed; the time of the login before that. */
  readonly lastUsed: Date
  /** The address of the client that logged in. */
  readonly address: string
  /** The header `User-Agent` of the login, cut at 256 characters; empty if there was none. */
  readonly userAgent: string
}

/** The session of a request. */
export interface RequestSession {
  /** Names the session: its `sid` in {@link Sessions.list} and {@link Sessions.revoke}. */
  readonly id: string
  /** The user of the session: the claim `sub` of its tokens, as a string. */
  readonly sub: string
}

/** How a user has authenticated, for {@link Sessions.begin}. */
export interface BeginOptions {
  /**
   * The methods of RFC 8176, such as `['pwd', 'otp', 'mfa']`: the claim `amr` of the tokens. With `mfa` in it, no second
   * factor is asked for, and the session meets the mark `mfa`. Default: none, which says nothing.
   */
  readonly amr?: readonly string[] | undefined
  /** When that was, in seconds since 1970: the claim `auth_time` of the tokens. Default: now. */
  readonly authTime?: number | undefined
}

/** `app.authn.sessions`: the sessions of a registration. */
export interface Sessions {
  /**
   * Logs a user in without a password: after a sign-up, a link in an e-mail, a passkey, or another service. It does what
   * `POST /login` does with the right password: it asks the user service, begins a session, sets the cookies if
   * there is the option `cookies`, and publishes `login`.
   *
   * It checks nothing else. The caller has authenticated the user, and has made sure that the request is not one by
   * which a page of another site logs its visitor in as another user (login CSRF).
   *
   * @param username - as for `findByUsername`; `login.subject` gets it too
   * @param request - the request by which the user logs in
   * @param reply - gets the cookies, and `Cache-Control: no-store`
   * @param how - how the user has authenticated; another value than described is an internal error (500)
   * @returns the body of `POST /login`, to be sent: that of `login.body`, if it is set. For a user who has a second factor,
   * and without `mfa` in `amr`, the body that asks for it; the status of the reply is then 202
   * @throws (rejects) ERR_AUTH_LOGIN_REFUSED (403) for an unknown name, or for a value that is not a name;
   * ERR_AUTH_INVALID_CREDENTIALS if all sessions of the user were revoked meanwhile; ERR_AUTH_TOKEN_DELIVERY (400) with
   * `cookies.apps`; ERR_AUTH_STORE_UNAVAILABLE; ERR_AUTH_OPTION without the option `userService`; AuthenticationFault
   */
  begin(
    username: string | number,
    request: FastifyRequest,
    reply: FastifyReply,
    how?: BeginOptions,
  ): Promise<LoginBody>
  /**
   * Exchanges a refresh token for new tokens, for a route of the app: clients may know another path, or send the token
   * under another name. It does what `POST /login/refresh` does: it sets the cookies if there is the option `cookies`,
   * publishes `success`, and counts wrong tokens. The caller has made sure that the request is not cross-site (CSRF), if
   * the token comes from a cookie.
   *
   * @param token - the refresh token that the client has sent
   * @param request - the request by which it came
   * @param reply - gets the cookies, and `Cache-Control: no-store`
   * @returns the body of `POST /login/refresh`, to be sent: that of `login.body`, if it is set
   * @throws (rejects) AuthenticationError: ERR_AUTH_NO_CREDENTIALS for an empty token or a value that is no string,
   * ERR_AUTH_REFRESH_INVALID, ERR_AUTH_REFRESH_REUSED, ERR_AUTH_TOKEN_DELIVERY (with `cookies.apps`),
   * ERR_AUTH_TOO_MANY_ATTEMPTS, ERR_AUTH_STORE_UNAVAILABLE, ERR_AUTH_OVERLOADED; ERR_AUTH_OPTION without the option `userService`; AuthenticationFault
   */
  refresh(token: string, request: FastifyRequest, reply: FastifyReply): Promise<LoginBody>
  /**
   * The session by whose access token the user of a request is authenticated. Use it, rather than claims, to list and
   * revoke the sessions of the user: the `sub` of an issuer's token may be that of another user here.
   *
   * @returns null for every other request: anonymous, with Basic, with a token of an issuer, of another registration, or
   * without a session
   */
  of(request: FastifyRequest): RequestSession | null
  /**
   * The sessions of a user that have not expired, the newest first.
   *
   * @param sub - the claim `sub` of their tokens
   * @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE
   */
  list(sub: string | number): Promise<SessionInfo[]>
  /**
   * Revokes a session, or all sessions of a user, in all registrations of the app with the same `userService`. Their access tokens are rejected at once in this process, and within
   * a second in all others that reach the store.
   *
   * @param which - `except`: the `sid` of a session that stays. Logins that are under way are not revoked either
   * @returns how many sessions this call has revoked
   * @throws (rejects) ERR_AUTH_STORE_UNAVAILABLE, and ERR_AUTH_CLAIMS when neither is given, or both
   */
  revoke(
    which:
      | { readonly sid: string; readonly sub?: undefined }
      | { readonly sub: string | number; readonly sid?: undefined; readonly except?: string },
  ): Promise<number>
}

/** Counts of the sessions of a registration, since this process has started. */
export interface SessionStats {
  /** Sessions that have begun: logins. */
  readonly begun: number
  /** Uses of a refresh token that gave new tokens. */
  readonly refreshed: number
  /** Sessions that were revoked because an old refresh token was used again. */
  readonly reused: number
  /** Revoked sessions whose access tokens have not expired yet. */
  readonly revoked: number
  /** Calls of the store that failed or took too long. */
  readonly storeFailures: number
  /** Whether the store reports revocations to this process now. */
  readonly isCaughtUp: boolean
}

/**
 * Published when an old refresh token was used again, at a refresh or at a logout, which counts as theft: its session
 * has been revoked.
 */
export interface ReuseEvent extends Pick<AuthnEvent, 'registration' | 'request' | 'authenticator'> {
  /** The claim `sid` of the session's tokens. */
  readonly sid: string
  /** The claim `sub` of the session's tokens: whose session it was. */
  readonly sub: string
}

/**
 * Published when a client has logged out; with the authenticator `login`, when a login has revoked an earlier session: that
 * of the refresh cookie which the browser still had, or the oldest of the user; and with `confirm`, when wrong passwords,
 * codes or passkeys have revoked the session that sent them.
 */
export interface LogoutEvent extends ReuseEvent {
  /** Whether all sessions of the user were to be revoked. */
  readonly everywhere: boolean
  /** How many sessions were revoked. */
  readonly revoked: number
}

/**
 * Published when a session was revoked, for whatever reason, in each process that learns of it, once: in the one that
 * revokes it at once, in others when the store reports it. Close the streams and sockets of the session.
 */
export interface RevokedEvent extends OfRegistration {
  /** The session: the `id` that {@link Sessions.of} returned for its requests. */
  readonly sid: string
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /**
     * Sessions: refresh tokens, logout, and access tokens that can be revoked. `true` for the defaults. Default: none.
     */
    sessions?: SessionsOptions | boolean | undefined
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `sessions` is set. */
    sessions: true
  }
  interface AuthnStats {
    /** Set only with the option `sessions`. */
    readonly sessions?: SessionStats
  }
  interface Authn {
    /**
     * Lists and revokes sessions.
     *
     * @throws ERR_AUTH_OPTION when it is read without the option `sessions`; {@link Authn.features} says whether it is set
     */
    readonly sessions: Sessions
  }
}

declare module './errors.js' {
  interface RejectionCodes {
    /** The refresh token is invalid, or its session has expired or was revoked. */
    ERR_AUTH_REFRESH_INVALID: 401
    /** The refresh token was used before, and its session has been revoked. */
    ERR_AUTH_REFRESH_REUSED: 401
    /** `app.authn.sessions.begin()` was called with an unknown username. */
    ERR_AUTH_LOGIN_REFUSED: 403
    /** The current password is missing or wrong. */
    ERR_AUTH_CURRENT_PASSWORD: 403
  }
}

declare module './messages.js' {
  interface Catalogue {
    /** Your session has expired. Please log in again. */
    readonly 'auth.refresh-invalid': string
    /** Your session was revoked to protect your account. Please log in again. */
    readonly 'auth.refresh-reused': string
    /** The current password is wrong. */
    readonly 'auth.current-password': string
  }
}

declare module './events.js' {
  interface AuthnEvents {
    /** An old refresh token was used again, and the session has been revoked: an alarm. */
    readonly reuse: ReuseEvent
    /** A client has logged out, or a login has revoked an earlier session. */
    readonly logout: LogoutEvent
    /** A session was revoked, here or in another process. */
    readonly revoked: RevokedEvent
  }
}
