import type { FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { JwtService } from '../lib/tokens/service.js'
import type { SigningMethod } from './jwt.js'
import type { JwtClaims } from './request-extra.js'
import type { StoredUser } from './user-service.js'

/**
 * Makes the token that the login route sends.
 *
 * @param request - the login request
 * @param user - the stored user, password hash included
 * @param jwtService - signs tokens: the service of the registration, from its option `jwt` or `jwtService`. In a
 * registration that has neither, it has no keys
 * @returns the token; anything but a non-empty string is an internal error
 */
export type TokenFunc<Stored extends object = StoredUser> = (
  request: FastifyRequest,
  user: Stored,
  jwtService: JwtService,
) => string | Promise<string>

/** Claims that an app adds to the tokens of a login. */
export type LoginClaims = Readonly<Partial<JwtClaims>> | null | undefined

/** Options of the login route. */
export interface LoginOptions<Stored extends object = StoredUser> {
  /**
   * Path below the prefix of the scope. Default `/login`. With `sessions`, tokens are refreshed at `/refresh` below it, and
   * `/logout` is beside it.
   */
  path?: string | undefined
  /** `false` leaves out the login route, but not those of refresh and logout. Default `true`. */
  passwords?: boolean | undefined
  /** Field of the body that holds the username. Default `username`. */
  usernameField?: string | undefined
  /** Field of the body that holds the password. Default `password`. */
  passwordField?: string | undefined
  /** Method that signs the tokens. Default: `jwt.signingMethod`. */
  signingMethod?: SigningMethod | undefined
  /**
   * Returns the name of a user in tokens and sessions, the claim `sub`, which `app.authn.sessions` lists and revokes by.
   * Default: the submitted username. Needed if several spellings find one user, such as `alice` and `Alice`:
   * `(user) => user.name`. Anything but a string that can be a username, or a finite number, is an internal error
   * (500). With `sessions`, it is called again at every refresh; a session whose user has another name by then is
   * revoked.
   *
   * @param user - the stored user, password hash included
   * @param username - the submitted username; at a refresh, the `sub` of the session
   * @returns a name for which `findByUsername` finds the user at later requests. A number stays one in the token; other
   * services may accept only a string (RFC 7519 §4.1.2)
   */
  subject?(user: Stored, username: string): string | number | Promise<string | number>
  /** Makes the token. Default: one whose `sub` is the submitted username, or what `subject` returns. */
  tokenFunc?(...args: Parameters<TokenFunc<Stored>>): ReturnType<TokenFunc<Stored>>
  /**
   * Returns claims of the app for the tokens of a login; with `sessions`, it is called again at every refresh. It may
   * set `sub`, which otherwise is the submitted username, or what `subject` returns. It must not set `sid`, `jti`, `iat`, `nbf`, `exp`, `auth_time` or `amr`: that is
   * an internal error (500).
   *
   * @param request - the request to the login or to the refresh route
   * @param user - the stored user, password hash included
   * @throws (or rejects with) an AuthenticationError to reject the login with its text
   */
  claims?(request: FastifyRequest, user: Stored): LoginClaims | Promise<LoginClaims>
  /**
   * Returns the JSON object that is sent for a login or a refresh, and that `sessions.begin()` and `sessions.refresh()`
   * return, where clients know other names: `({ token }) => ({ access_token: token })`. The cookies are not changed.
   * Anything but a plain object is an internal error (500); a client whose refresh has failed so gets the same tokens
   * again during `sessions.grace`.
   *
   * @param tokens - what would be sent. What travels in cookies is not in it
   */
  body?(tokens: LoginBody): object
  /** More options of the route, such as `config` of a rate limit or `schema.tags`. */
  routeOptions?: Omit<RouteShorthandOptions, 'validatorCompiler' | 'attachValidation'> | undefined
}

/** The body of `POST /login`. What travels in cookies is not in it. */
export interface LoginBody {
  /** The access token. */
  readonly token?: string
  /** The refresh token. */
  readonly refreshToken?: string
  /** Seconds until the access token expires; null if that is not known. */
  readonly expiresIn?: number | null
}
