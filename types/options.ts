import type { FastifyRequest } from 'fastify'
import type { JwtService } from '../lib/tokens/service.js'
import type { Authenticator } from './authenticator.js'
import type { RejectionLike } from './errors.js'
import type { JwtConfig, SigningMethod, VerifyRules } from './jwt.js'
import type { LoginOptions } from './login.js'
import type { AuthMark } from './marks.js'
import type { Catalogue } from './messages.js'
import type { HashingOptions, CredentialCacheOptions, ThrottleOptions } from './passwords.js'
import type { JwtClaims } from './request-extra.js'
import type { UndecidedRoute } from './routes.js'
import type { AuthUser, PasswordFieldOf, StoredUser, UserService } from './user-service.js'

/** Username and password of `configBasicAuthenticator`. */
export interface BasicConfig {
  /** The username. It is not empty, without colons and control characters (RFC 7617 §2). */
  username?: string | undefined
  /** The password. It is not empty, without control characters. */
  password?: string | undefined
}

/** The exceptions from the option `requireMarks`. */
export interface RequireMarksOptions {
  /**
   * Excepts routes, such as those of other plugins. Called at startup, for every route without a mark.
   *
   * @returns true for a route that needs no mark
   */
  except?: ((route: UndecidedRoute) => boolean) | undefined
  /**
   * `true` allows middleware of @fastify/express or @fastify/middie (`app.use(…)`), which marks do not protect. By
   * default, startup fails with such a plugin.
   */
  middleware?: boolean | undefined
}

/** The name `password`, which is allowed as long as the app has not declared the fields of its stored users. */
type DefaultField<Stored extends object> = StoredUser extends Stored ? 'password' : never

/** The sources of the scopes and roles of a user, for marks that require them. */
export interface AccessOptions {
  /**
   * Scopes that a user has. Called at most once for the mark of a request, and only if it requires a scope; `grantsOf()` calls it again. Default: the
   * claim `scope` of the token, or else `scp`.
   *
   * @param user - what `request.user` shows
   * @returns names, in an array or another iterable but not as a string; null or undefined for none; or a promise of
   * these
   */
  scopesOf?: ((user: AuthUser, request: FastifyRequest) => GrantedNames) | undefined
  /**
   * Roles that a user has. Called at most once for the mark of a request, and only if it requires a role and the user has
   * its scopes; `grantsOf()` calls it again. Default: `roles` of the user, an array or a Set of strings, or else `role`, a string.
   *
   * @param user - what `request.user` shows
   * @returns names, in an array or another iterable but not as a string; null or undefined for none; or a promise of
   * these
   */
  rolesOf?: ((user: AuthUser, request: FastifyRequest) => GrantedNames) | undefined
}

/** Names that a user has, now or later. */
export type GrantedNames =
  NamesOfUser | null | undefined | PromiseLike<NamesOfUser | null | undefined>

/** An array or another iterable of names. Not a string, which is an iterable of its letters. */
export type NamesOfUser = Iterable<string> & object

/** The body of a rejection: a plain object that JSON can express. */
export type ErrorBody = Readonly<Record<string, unknown>>

/**
 * Options of the plugin, to which each feature adds its own. Unknown ones are errors: a typo must not weaken security.
 */
export interface AuthnOptions<Stored extends object = StoredUser> {
  /**
   * Finds users, for Basic, JWT and login. Its return type becomes the type of the user in `login.tokenFunc`, and
   * `passwordField` has to be one of its fields.
   */
  userService?: UserService<Stored> | undefined
  /**
   * Field of the stored user that holds the password hash: one of type `string`. Default `password`.
   */
  passwordField?: NoInfer<PasswordFieldOf<Stored>> | DefaultField<Stored> | undefined
  /**
   * Longest password in bytes of its NFC in UTF-8, 1 to 4,096; `false` for no limit. bcrypt ignores what comes after 72 bytes, so a
   * stored bcrypt hash matches no longer password unless this is `false`. Default 72 for `hashing.algorithm` bcrypt, 512
   * for the others.
   */
  maxPasswordBytes?: number | false | undefined
  /** How passwords are hashed. Default: bcrypt. All registrations of an app share one queue. */
  hashing?: HashingOptions | undefined
  /** The cache of verified Basic credentials; `false` for none. Default: 1,000 for 60 s. */
  credentialCache?: CredentialCacheOptions | false | undefined
  /** Limits of failed logins and failed Basic attempts; `false` for none. Default: see {@link ThrottleOptions}. */
  throttle?: ThrottleOptions | false | undefined
  /**
   * Seconds that the user service, or a function of `access`, may take before the request gets a 503. Default: no
   * limit.
   */
  userServiceTimeout?: number | undefined
  /** The authenticator of marks without `use`: one, or names of registered ones. */
  authenticator?: Authenticator | string | readonly string[] | undefined
  /** More authenticators that `use` may name, by name. */
  authenticators?: Readonly<Record<string, Authenticator>> | undefined
  /** The sources of scopes and roles. Default: the claims of the token, and fields of the user. */
  access?: AccessOptions | undefined
  /** The mark of the scope in which the plugin is registered. Default: none. */
  auth?: AuthMark | undefined
  /**
   * `true` or an object: startup fails with a route in the scope of the plugin that has no mark, neither its own nor
   * an inherited one. Default: such a route is open.
   */
  requireMarks?: true | RequireMarksOptions | undefined
  /** Tokens and their keys. */
  jwt?: JwtConfig | undefined
  /** A service that the app made itself, instead of `jwt`. */
  jwtService?: JwtService | undefined
  /** The username and the password of the authenticator `configBasic`. */
  basic?: BasicConfig | undefined
  /** The login route; `false` for none. Default: on when there is a user service and a signing key. */
  login?: LoginOptions<Stored> | false | undefined
  /**
   * Makes the body of every rejection: of protected routes, and of login, refresh and logout, malformed bodies included.
   * It is sent as JSON; status and headers stay as they are. If it throws or returns anything but a plain object,
   * such as a promise, the error is logged, and the default body is sent. `onUnauthorized` of an authenticator that
   * answers itself takes precedence. Default: that of the registration around this one, or else `{ error: message }`.
   *
   * @param error - its `code` is stable, its `message` is in the language of the request
   */
  errorBody?: ((error: RejectionLike, request: FastifyRequest) => ErrorBody) | undefined
  /**
   * The JSON Schema of what `errorBody` returns, for OpenAPI documents; it changes no response. Startup fails if
   * `errorBody` is not set beside it. Default: an object with any members.
   */
  errorSchema?: object | undefined
  /** Protection space named in challenges (RFC 9110 §11.5). Default `Authorization required`. */
  realm?: string | undefined
  /** Catalogues that add languages or override messages, by BCP 47 tag. */
  languages?: Readonly<Record<string, Partial<Catalogue>>> | undefined
  /** Language for clients that ask for none of the available ones. Default `en`. */
  defaultLanguage?: string | undefined
}

/** What the options may look like. A feature whose option changes the type of others adds a shape. */
export interface AuthnOptionShapes<Stored extends object> {
  /** Without such features. */
  standard: AuthnOptions<Stored>
}

/** The types of users that features store themselves. */
export interface OwnUsers {}

/** What the options may look like with such a feature. */
// The features that fill it in use the parameter.
// oxlint-disable-next-line no-unused-vars
export interface OwnUserShapes<Stored extends object> {}

/** The options that the plugin takes with such a feature: one of the shapes. */
export type AnyOwnUserOptions<Stored extends object = OwnUsers[keyof OwnUsers]> =
  OwnUserShapes<Stored>[keyof OwnUserShapes<Stored>]

/** The options that the plugin takes: one of the shapes. */
export type AnyAuthnOptions<Stored extends object = StoredUser> =
  AuthnOptionShapes<Stored>[keyof AuthnOptionShapes<Stored>]

/** Options of `jwtAuthenticator`. What is left out comes from the plugin's options. */
export interface JwtAuthenticatorOptions<Stored extends object = StoredUser> extends VerifyRules {
  /** Finds the users of tokens. Its return type is that of the authenticator. */
  userService?: UserService<Stored> | undefined
  /** See `Authenticator.optional`. Default `false`. */
  optional?: boolean | undefined
  /** Claim whose value is passed to `findByUsername`. Default `sub`. */
  claimName?: string | undefined
  /** The one method that is accepted. Default: `jwt.signingMethod`, which is `HS256`. */
  signingMethod?: SigningMethod | undefined
  /**
   * Decides about each token that is valid, before its user is looked up: anything but `true`, or a promise of it, is a
   * 401. What it throws is a 500, except an `AuthenticationError`. Default: all of them are accepted.
   */
  trusted?: ((claims: JwtClaims, request: FastifyRequest) => boolean | Promise<boolean>) | undefined
}

/** Options of `basicAuthenticator`. What is left out comes from the plugin's options. */
export interface BasicAuthenticatorOptions<Stored extends object = StoredUser> {
  /** Finds users. Its return type is that of the authenticator, and `passwordField` has to be one of its fields. */
  userService?: UserService<Stored> | undefined
  /** Field of the stored user that holds the password hash: one of type `string`. */
  passwordField?: NoInfer<PasswordFieldOf<Stored>> | DefaultField<Stored> | undefined
  /** See `Authenticator.optional`. Default `false`. */
  optional?: boolean | undefined
}
