import type { FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { Authenticator } from './authenticator.js'
import type { JwtConfig, JwtServiceLike, SigningMethod, TokenRules } from './jwt.js'
import type { AuthMark } from './marks.js'
import type { Catalogue } from './messages.js'
import type { UndecidedRoute } from './routes.js'
import type { PasswordFieldOf, StoredUser, UserService } from './user-service.js'

/** Username and password of `configBasicAuthenticator`. */
export interface BasicConfig {
  /** The one name: not empty, without colons and control characters (RFC 7617 §2). */
  username?: string | undefined
  /** Its password: not empty. */
  password?: string | undefined
}

/**
 * Makes the token that a login answers with (specification, `TokenFunc`).
 *
 * @param request - the login request
 * @param user - the stored user, password hash included
 * @returns the token; anything but a non-empty string is a fault
 */
export type TokenFunc<Stored extends object = StoredUser> = (
  request: FastifyRequest,
  user: Stored,
) => string | Promise<string>

/** The login route (specification, "JWT login controller"). */
export interface LoginOptions<Stored extends object = StoredUser> {
  /** Path below the prefix of the scope. Default `/login`. */
  path?: string | undefined
  /** Field of the body that holds the username. Default `username`. */
  usernameField?: string | undefined
  /** Field of the body that holds the password. Default `password`. */
  passwordField?: string | undefined
  /** Method that signs the tokens. Default: `jwt.signingMethod`. */
  signingMethod?: SigningMethod | undefined
  /** Makes the token. Default: `sub` is the submitted username. */
  tokenFunc?(...args: Parameters<TokenFunc<Stored>>): ReturnType<TokenFunc<Stored>>
  /** More options of the route, such as `config` of a rate limit or `schema.tags`. */
  routeOptions?: Omit<RouteShorthandOptions, 'validatorCompiler' | 'attachValidation'> | undefined
}

/** How passwords are hashed, and how much of it there may be in a tree of Fastify instances. */
export interface HashingOptions {
  /**
   * Cost of new hashes, 4 to 31, the binary logarithm of the rounds. Also the cost that unknown users
   * have until the stored hashes have taught another. Default 10.
   */
  cost?: number | undefined
  /**
   * How many bcrypt runs there are at once. Default: one a core, but one less than the thread pool of
   * libuv has threads, so that file and DNS work always finds one; shared by all apps of the process.
   */
  concurrency?: number | undefined
  /** How many requests may wait for one. Default 64. Beyond: 503. */
  maxQueue?: number | undefined
  /** How long each may wait, in seconds. Default 5. Beyond: 503. */
  maxWait?: number | undefined
}

/** How verified credentials of Basic are remembered. */
export interface RememberOptions {
  /** How many. Default 1,000; the least recently used one goes first. */
  max?: number | undefined
  /** How long, in seconds. Default 60. */
  ttl?: number | undefined
}

/** How often one may guess. */
export interface ThrottleOptions {
  /** Failures for one username from one address. Default 10. */
  perUsername?: number | undefined
  /** Failures from one address; an IPv6 address counts by its first 64 bits. Default 100. */
  perAddress?: number | undefined
  /** Seconds after the first failure until they are forgotten. Default 900. */
  window?: number | undefined
  /** A client of ioredis that the app owns: several processes then share the counters. */
  redis?: object | undefined
  /** What the names of the counters in Redis begin with. Default `fastify-authn`. */
  keyPrefix?: string | undefined
}

/** Which routes need a decision of who may call them. */
export interface AuditOptions {
  /** `'explicit'`: all of them. */
  mode: 'explicit'
  /**
   * Excepts routes, as those that other plugins declare: asked while the app boots, for every route without a mark.
   *
   * @returns true for a route that needs none; anything but true and false stops the boot
   */
  except?: ((route: UndecidedRoute) => boolean) | undefined
}

/** Options of the plugin. Unknown ones are refused: a typo must not weaken security. */
export interface AuthnOptions<Stored extends object = StoredUser> {
  /**
   * Finds users, for Basic, JWT and login. What it returns types the user of `login.tokenFunc`, and is what
   * `passwordField` is held against.
   */
  userService?: UserService<Stored> | undefined
  /**
   * Field of the stored user that holds the bcrypt hash: one of type `string`. Default `password`.
   */
  passwordField?: NoInfer<PasswordFieldOf<Stored>> | undefined
  /** Longest password in bytes of UTF-8, 1 to 72; `false` for no limit. Default 72. */
  maxPasswordBytes?: number | false | undefined
  /** How passwords are hashed; one setting for a tree of Fastify instances. */
  hashing?: HashingOptions | undefined
  /** How Basic remembers verified credentials; `false` for not at all. Default: 1,000 for 60 s. */
  rememberCredentials?: RememberOptions | false | undefined
  /** How failed logins and failed Basic attempts are throttled; `false` for not at all. Default: on. */
  throttle?: ThrottleOptions | false | undefined
  /** Seconds after which a user service that does not answer gives a 503. Default: none. */
  userServiceTimeout?: number | undefined
  /** The authenticator of marks without `use`: one, or names of registered ones. */
  authenticator?: Authenticator | string | readonly string[] | undefined
  /** More authenticators that `use` may name, by name. */
  authenticators?: Readonly<Record<string, Authenticator>> | undefined
  /** The mark of the scope in which the plugin is registered. Default: none. */
  auth?: AuthMark | undefined
  /**
   * `'explicit'`: a route in the scope of the plugin that has no mark, neither of its own nor of a scope around it,
   * stops the boot. Default: such a route is open.
   */
  audit?: 'explicit' | AuditOptions | undefined
  /** Tokens and their keys. */
  jwt?: JwtConfig | undefined
  /** A service that the app made itself, in place of `jwt`. */
  jwtService?: JwtServiceLike | undefined
  /** Credentials of the authenticator `configBasic`. */
  basic?: BasicConfig | undefined
  /** The login route; `false` for none. Default: on when there is a user service and a signing key. */
  login?: LoginOptions<Stored> | false | undefined
  /**
   * Whether `userFromContext()` finds the user, which takes an `AsyncLocalStorage`. `false` for apps that
   * never call it: it finds nobody then. Default `true`.
   */
  asyncContext?: boolean | undefined
  /** Protection space named in challenges (RFC 9110 §11.5). Default `Authorization required`. */
  realm?: string | undefined
  /** Catalogues that add languages or override messages, by BCP 47 tag. */
  languages?: Readonly<Record<string, Partial<Catalogue>>> | undefined
  /** Language of clients that ask for none that is there. Default `en`. */
  defaultLanguage?: string | undefined
}

/** Options of `jwtAuthenticator`. What is left out comes from the plugin's options. */
export interface JwtAuthenticatorOptions<Stored extends object = StoredUser> extends TokenRules {
  /** Finds the users of tokens. Types what the authenticator returns. */
  userService?: UserService<Stored> | undefined
  /** See `Authenticator.optional`. Default `false`. */
  optional?: boolean | undefined
  /** Claim whose value is passed to `findByUsername`. Default `sub`. */
  claimName?: string | undefined
  /** The one method that is accepted. Default: `jwt.signingMethod`, which is `HS256`. */
  signingMethod?: SigningMethod | undefined
}

/** Options of `basicAuthenticator`. What is left out comes from the plugin's options. */
export interface BasicAuthenticatorOptions<Stored extends object = StoredUser> {
  /** Finds users. Types what the authenticator returns, and is what `passwordField` is held against. */
  userService?: UserService<Stored> | undefined
  /** Field of the stored user that holds the bcrypt hash: one of type `string`. */
  passwordField?: NoInfer<PasswordFieldOf<Stored>> | undefined
  /** See `Authenticator.optional`. Default `false`. */
  optional?: boolean | undefined
}
