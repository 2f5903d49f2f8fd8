import type { Channel } from 'node:diagnostics_channel'
import type { FastifyRequest } from 'fastify'
import type { RefusalCode } from './errors.js'
import type { ApiKeyInfo } from './api-keys.js'
import type { AuthUser } from './user-service.js'

/** Members of every event that is about a request. */
interface AuthnEvent {
  /** The request. It holds what the client sent, passwords and tokens included: never log it whole. */
  readonly request: FastifyRequest
  /**
   * The name of the authenticator that was asked. Where the request had credentials for none, all that the route accepts,
   * as in `jwt|basic`; `login`, `refresh` and `logout` for the routes of the plugin; `custom` for one without a name.
   */
  readonly authenticator: string
  /** The names of the authenticators that the route accepts; empty for the routes of the plugin. */
  readonly accepts: readonly string[]
  /**
   * How long the authentication took, in milliseconds. Null when the first listener subscribed after it had begun.
   */
  readonly duration: number | null
  /** The `id` of the API key of the request, which is proven only on success. */
  readonly apiKeyId?: string
}

/**
 * Published on `success` when a request was authenticated or a session refreshed, and on `login` after a login.
 */
export interface SuccessEvent extends AuthnEvent {
  /** The user as in `request.user`: without the password hash. */
  readonly user: AuthUser
}

/** Published when a request was rejected. */
export interface RefusalEvent extends AuthnEvent {
  /** Why the request was rejected. */
  readonly code: RefusalCode
  /** Why in more detail, as in the log; often missing. It quotes no credentials. */
  readonly reason?: string
  /** The user as in `request.user`, if an authenticator had accepted one. */
  readonly user?: AuthUser
}

/** Published when the key set of an issuer has been fetched. It has no request. */
export interface IssuerEvent {
  /** The name of the issuer in the option `issuers`. */
  readonly issuer: string
  /** `renewed`: there is a new set. `failed`: the old one stays in use, until it is 70 minutes old. */
  readonly outcome: 'renewed' | 'failed'
  /** How many keys verify tokens now. */
  readonly keys: number
  /** How many keys of the new set are not used, such as those for encryption. */
  readonly leftOut: number
  /** Why it failed; null if it did not. It quotes nothing from the issuer's body. */
  readonly reason: string | null
  /** How long it took, in milliseconds. */
  readonly duration: number
}

/**
 * Published when an old refresh token was used again, at a refresh or at a logout, which counts as theft: its session
 * has been revoked.
 */
export interface ReuseEvent extends Omit<AuthnEvent, 'accepts' | 'duration' | 'apiKeyId'> {
  /** The claim `sid` of the session's tokens. */
  readonly sid: string
  /** The claim `sub` of the session's tokens: whose session it was. */
  readonly sub: string
}

/**
 * Published when a client has logged out, and, with the authenticator `login`, when a login has revoked an earlier
 * session: that of the refresh cookie which the browser still had, or the oldest of the user.
 */
export interface LogoutEvent extends ReuseEvent {
  /** Whether all sessions of the user were to be revoked. */
  readonly everywhere: boolean
  /** How many sessions were revoked. */
  readonly revoked: number
}

/** Published when an API key was issued, revoked or rotated by this process. */
export interface ApiKeyEvent extends Pick<ApiKeyInfo, 'id' | 'owner' | 'name'> {
  /** What happened. */
  readonly action: 'issued' | 'revoked' | 'rotated'
  /** After a rotation, the `id` of the new key. */
  readonly replacedBy?: string
}

/** The payload of each channel. The channel of `failure` has the name `fastify-authn:failure`, and so on. */
export interface AuthnEvents {
  /** A request to a protected route was authenticated. */
  readonly success: SuccessEvent
  /** The login route issued a token. */
  readonly login: SuccessEvent
  /** A request was rejected with 401 or 403. */
  readonly failure: RefusalEvent
  /** A request was rejected with 429: too many failed attempts. */
  readonly throttled: RefusalEvent
  /**
   * A request was rejected with 503: bcrypt is busy, the user service is too slow, or an issuer or a store is
   * unavailable.
   */
  readonly overloaded: RefusalEvent
  /** The key set of an issuer was renewed, or could not be. */
  readonly issuer: IssuerEvent
  /** An old refresh token was used again, and the session has been revoked: an alarm. */
  readonly reuse: ReuseEvent
  /** A client has logged out, or a login has revoked an earlier session. */
  readonly logout: LogoutEvent
  /** An API key was issued, revoked or rotated. */
  readonly apiKey: ApiKeyEvent
}

/**
 * A channel of `node:diagnostics_channel` with a typed payload.
 *
 * @typeParam Event - the payload
 */
export interface AuthnChannel<Event> extends Omit<Channel, 'subscribe' | 'unsubscribe'> {
  /**
   * Adds a listener, which is called for each event, before the request goes on. What it throws is an uncaught
   * exception of the process; the request goes on nevertheless.
   */
  subscribe(listener: (event: Event, name: string | symbol) => void): void
  /**
   * Removes a listener.
   *
   * @returns whether it was subscribed
   */
  unsubscribe(listener: (event: Event, name: string | symbol) => void): boolean
}

/** The channels of the package, by the name of their event. */
export type AuthnChannels = {
  readonly [Name in keyof AuthnEvents]: AuthnChannel<AuthnEvents[Name]>
}
