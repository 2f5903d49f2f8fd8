import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from '@sinclair/typebox/type'
import type { SecurityScheme } from '../../types/openapi.js'
import type { JwtClaims } from '../../types/request-extra.js'

export interface IssuedTokens {
  readonly token: string
  /** Seconds until the token expires. Default: taken from its `exp`. */
  readonly expiresIn?: number | undefined
  readonly refreshToken?: string | undefined
  /** Seconds until an unused refresh token expires. */
  readonly refreshExpiresIn?: number | undefined
}

/** How a user has authenticated, for the tokens of the session that begins. */
export interface Authentication {
  /** Seconds since 1970: `auth_time` of a provider that has sent it. Default: now. */
  readonly time?: number | undefined
  /** Methods of RFC 8176. With `mfa`, no second factor is asked for. Default: not known. */
  readonly amr?: readonly string[] | undefined
  /** Whether a user who has a session gets another one in its place, for which no second factor is asked. */
  readonly isRenewed?: boolean
}

export interface Once {
  readonly name: string
  /** Seconds since 1970. */
  readonly until: number
  /** What `confirm` compares, for `confirmLogin` of the feature where a second factor comes between. */
  readonly bound: string
}

export interface LoginAttempt {
  /** When its request began, before the user was read, by the clock of `performance.now()`. */
  readonly started: number
  /** When a login of several requests began, in milliseconds since 1970: the other clock begins, or stops, with a process. */
  readonly began?: number | undefined
  readonly authentication: Authentication
  /** The password hash that this login is storing in place of that of the user, if it does. */
  readonly replacement?: string | undefined
  /** Set where this login may begin one session: the first part of its `sid`, and until when that must not be used again. */
  readonly once?: Once | undefined
  /** The `sid` of the session that the new one replaces: if that has been revoked meanwhile, none begins. */
  readonly replaces?: string | undefined
  /**
   * Called when the tokens are made and stored, so that later changes find them. Default: nothing can have changed what
   * the user has shown.
   * @throws (rejects) ERR_AUTH_INVALID_CREDENTIALS where the password was changed, the user was deleted, or all tokens
   * of the user were revoked since the attempt began
   */
  confirm?(): Promise<void>
  /** Called once, last: uses up what the user has shown. So a store that is away costs no code. */
  readonly use?: (() => Promise<void>) | undefined
}

/** What the one feature that has `secondFactor` does between a login and its tokens. */
export interface SecondFactor {
  /** The page that asks for it after a login at a provider; the token follows behind `#`. */
  readonly page?: string | undefined
  /** Whether a user has one. `isOther`: or may lack the field. @throws AuthenticationFault if that cannot be told */
  isOn(user: object, isOther?: boolean): boolean
  /**
   * Called for a user who has one, before there are tokens.
   * @returns the body in place of that of the login, whose status it has set; null if the login goes on
   */
  ask(
    request: FastifyRequest,
    reply: FastifyReply,
    user: object,
    login: FinishedLogin,
  ): Promise<AskedBody | null>
}

export interface AskedBody {
  readonly secondFactor: { readonly token: string; readonly expiresIn: number }
}

/** A login that has found its user. */
export interface FinishedLogin extends LoginAttempt {
  readonly username: string | number
  readonly user: object
}

/** How tokens travel between the plugin's own routes and a client. */
export interface TokenCarrier {
  /** The JSON Schema of the body of {@link send} in API documents, with or without the tokens of a session. */
  schema(hasSessions: boolean): TSchema
  /** More of the schema of a route with {@link PluginRoute.givesTokens} in API documents. */
  readonly documented?: object
  /**
   * Lets the client choose how it gets its tokens. @throws AuthenticationError if it must not get them so
   * @param hasToken - whether there is a refresh token in the body; undefined at a login, where a header chooses
   */
  check?(request: FastifyRequest, hasToken?: boolean): void
  /** The refresh token that a request carries outside of its body. @throws AuthenticationError */
  refreshToken(request: FastifyRequest): string | null
  /** Puts tokens into a reply. @returns the body */
  send(request: FastifyRequest, reply: FastifyReply, tokens: IssuedTokens): object
  /** Makes the client delete its tokens. */
  clear(request: FastifyRequest, reply: FastifyReply): void
}

/** A place besides the `Authorization` header where an access token of our own keys may be. */
export interface TokenSource {
  /** Called without that header. @throws AuthenticationError for a request that must not use the token */
  find(request: FastifyRequest): string | null
  /** The name and the definition of its security scheme in API documents. */
  readonly openapi: readonly [string, SecurityScheme]
}

/** Rejects valid tokens of our own keys: `claims` and `user` throw an AuthenticationError. */
export interface TokenCheck {
  /** Checks the claims before the user is looked up. */
  claims?(claims: JwtClaims): void
  user?(user: object, claims: JwtClaims): void
  /** The least `iat` of tokens that are issued to a user now, in seconds since 1970. @throws AuthenticationFault */
  issuedAfter?(user: object): number
}
