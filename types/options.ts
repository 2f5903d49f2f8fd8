import type { FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { Authenticator } from './authenticator.js'
import type { JwtConfig, JwtServiceLike, SigningMethod, TokenRules } from './jwt.js'
import type { AuthMark } from './marks.js'
import type { Catalogue } from './messages.js'
import type { UserService } from './user-service.js'

/** Username and password of `configBasicAuthenticator`. */
export interface BasicConfig {
  username?: string
  password?: string
}

/**
 * Makes the token that a login answers with (specification, `TokenFunc`).
 *
 * @param request - the login request
 * @param user - the stored user, password hash included
 * @returns the token; anything but a non-empty string is a fault
 */
export type TokenFunc<Stored extends object = object> = (
  request: FastifyRequest,
  user: Stored,
) => string | Promise<string>

/** The login route (specification, "JWT login controller"). */
export interface LoginOptions<Stored extends object = object> {
  /** Path below the prefix of the scope. Default `/login`. */
  path?: string
  /** Field of the body that holds the username. Default `username`. */
  usernameField?: string
  /** Field of the body that holds the password. Default `password`. */
  passwordField?: string
  /** Method that signs the tokens. Default: `jwt.signingMethod`. */
  signingMethod?: SigningMethod
  /** Makes the token. Default: `sub` is the submitted username. */
  tokenFunc?: TokenFunc<Stored>
  /** More options of the route, such as `config` of a rate limit or `schema.tags`. */
  routeOptions?: Omit<RouteShorthandOptions, 'validatorCompiler' | 'attachValidation'>
}

/** Options of the plugin. Unknown ones are refused: a typo must not weaken security. */
export interface AuthnOptions<Stored extends object = object> {
  /** Finds users, for Basic, JWT and login. */
  userService?: UserService<Stored>
  /** Field of the stored user that holds the bcrypt hash. Default `password`. */
  passwordField?: string
  /** Longest password in bytes of UTF-8, 1 to 72; `false` for no limit. Default 72. */
  maxPasswordBytes?: number | false
  /** The authenticator of marks without `use`: one, or names of registered ones. */
  authenticator?: Authenticator | string | readonly string[]
  /** More authenticators that `use` may name, by name. */
  authenticators?: Readonly<Record<string, Authenticator>>
  /** The mark of the scope in which the plugin is registered. Default: none. */
  auth?: AuthMark
  /** Tokens and their keys. */
  jwt?: JwtConfig
  /** A service that the app made itself, in place of `jwt`. */
  jwtService?: JwtServiceLike
  /** Credentials of the authenticator `configBasic`. */
  basic?: BasicConfig
  /** The login route; `false` for none. Default: on when there is a user service and a signing key. */
  login?: LoginOptions<Stored> | false
  /** Protection space named in challenges (RFC 9110 §11.5). Default `Authorization required`. */
  realm?: string
  /** Catalogues that add languages or override messages, by BCP 47 tag. */
  languages?: Readonly<Record<string, Partial<Catalogue>>>
  /** Language of clients that ask for none that is there. Default `en`. */
  defaultLanguage?: string
}

/** Options of `jwtAuthenticator`. What is left out comes from the plugin's options. */
export interface JwtAuthenticatorOptions<Stored extends object = object> extends TokenRules {
  userService?: UserService<Stored>
  /** See `Authenticator.optional`. Default `false`. */
  optional?: boolean
  /** Claim whose value is passed to `findByUsername`. Default `sub`. */
  claimName?: string
  /** The one method that is accepted. Default: `jwt.signingMethod`, which is `HS256`. */
  signingMethod?: SigningMethod
}

/** Options of `basicAuthenticator`. What is left out comes from the plugin's options. */
export interface BasicAuthenticatorOptions<Stored extends object = object> {
  userService?: UserService<Stored>
  /** Field of the stored user that holds the bcrypt hash. */
  passwordField?: string
  /** See `Authenticator.optional`. Default `false`. */
  optional?: boolean
}
