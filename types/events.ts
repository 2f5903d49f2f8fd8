import type { Channel } from 'node:diagnostics_channel'
import type { FastifyRequest } from 'fastify'
import type { RejectionCode } from './errors.js'
import type { HashAlgorithm } from './passwords.js'
import type { AuthUser } from './user-service.js'

/** A member of every event. */
export interface OfRegistration {
  /**
   * The registration of the plugin that the event is from, as `app.authn.registration` has it. Two registrations of an
   * app differ, and may both have a user with the same `sub`.
   */
  readonly registration: string
}

/** Members of every event that is about a request. */
export interface AuthnEvent extends OfRegistration {
  /** The request. It holds what the client sent, passwords and tokens included: never log it whole. */
  readonly request: FastifyRequest
  /**
   * The name of the authenticator that was asked. Where the request had credentials for none, all that the route accepts,
   * as in `jwt|basic`; `login`, `confirm`, `refresh`, `logout`, `account`, `second-factor` or `passkey` for the routes of the
   * plugin; `custom` for one without a name.
   */
  readonly authenticator: string
  /** The names of the authenticators that the route accepts; empty for the routes of the plugin. */
  readonly accepts: readonly string[]
  /**
   * How long the authentication took, in milliseconds. Null when the first listener subscribed after it had begun.
   */
  readonly duration: number | null
}

/**
 * Published on `success` when a request was authenticated, a session refreshed or replaced by a confirmation, and on `login`
 * after a login.
 */
export interface SuccessEvent extends AuthnEvent {
  /** The user as in `request.user`: without the password hash. */
  readonly user: AuthUser
}

/** Published after a login. */
export interface LoginEvent extends SuccessEvent {
  /** How the user has authenticated: the claim `amr` of the session, if that is known. */
  readonly amr?: readonly string[]
}

/** Published when a request was rejected. */
export interface RejectionEvent extends AuthnEvent {
  /** Why the request was rejected. */
  readonly code: RejectionCode
  /** The reason in more detail, as in the log; often missing. It quotes no credentials. */
  readonly reason?: string
  /** The user as in `request.user`, if an authenticator had accepted one. */
  readonly user?: AuthUser
}

/** Published when the hash of a user was replaced after a login or a Basic request. */
export interface RehashEvent extends OfRegistration {
  /** The request. It holds what the client sent, passwords and tokens included: never log it whole. */
  readonly request: FastifyRequest
  /** The user as in `request.user`: without the password hash. */
  readonly user: AuthUser
  /** The algorithm of the stored hash; `other` for one that a function of the app verifies. */
  readonly from: HashAlgorithm | 'argon2i' | 'other'
  /** The algorithm of the new hash. */
  readonly to: HashAlgorithm
}

/**
 * The payload of each channel; features add their own. The channel of `failure` has the name `fastify-authn:failure`, and
 * so on.
 */
export interface AuthnEvents {
  /** A request to a protected route was authenticated, or a session was refreshed or replaced by a confirmation. */
  readonly success: SuccessEvent
  /** The login route issued a token. */
  readonly login: LoginEvent
  /** A request was rejected with 400, 401, 403, 404 or 409. */
  readonly failure: RejectionEvent
  /** A request was rejected with 429: too many failed attempts. */
  readonly throttled: RejectionEvent
  /**
   * A request was rejected with 503: too much hashing waits, the user service is too slow, or an issuer or a store is
   * unavailable.
   */
  readonly overloaded: RejectionEvent
  /** `updatePasswordHash` has stored a new hash. */
  readonly rehash: RehashEvent
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
