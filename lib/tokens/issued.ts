import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from '@sinclair/typebox/type'
import type { SecurityScheme } from '../../types/openapi.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** The tokens of a login or of a refresh. Times are in seconds. */
export interface IssuedTokens {
  readonly token: string
  /** Default: taken from the `exp` of the token. */
  readonly expiresIn?: number | undefined
  readonly refreshToken?: string | undefined
  /** Until an unused refresh token expires. */
  readonly refreshExpiresIn?: number | undefined
}

/** A login that was not finished when something may have changed. */
export interface LoginAttempt {
  /** When it began, before the user was read, by the clock of `performance.now()`. */
  readonly started: number
  /** When the user has authenticated, in seconds since 1970: `auth_time` of a provider that has sent it. */
  readonly authTime?: number | undefined
  /**
   * To be called when the tokens are made and stored, so that whatever changes later finds them.
   *
   * @throws (rejects) ERR_AUTH_INVALID_CREDENTIALS where the password was changed, the user was deleted, or all tokens
   * of the user were revoked since the attempt began
   */
  confirm(): Promise<void>
}

/** How tokens travel between the plugin's own routes and a client. */
export interface TokenCarrier {
  /** For API documents: the JSON Schema of the body of {@link send}, with or without the tokens of a session. */
  schema(hasSessions: boolean): TSchema
  /**
   * The refresh token that a request carries outside of its body; null where there is none. @throws AuthenticationError
   */
  refreshToken(request: FastifyRequest): string | null
  /** Puts tokens into a reply. @returns the body */
  send(request: FastifyRequest, reply: FastifyReply, tokens: IssuedTokens): object
  /** Makes the client delete its tokens. */
  clear(request: FastifyRequest, reply: FastifyReply): void
}

/** A place besides the `Authorization` header where an access token of our own keys may be. */
export interface TokenSource {
  /**
   * Finds the token of a request that has no such header.
   *
   * @returns null where there is none
   * @throws AuthenticationError for a request that must not use the token
   */
  find(request: FastifyRequest): string | null
  /** For API documents: the name and the definition of its security scheme. */
  readonly openapi: readonly [string, SecurityScheme]
}

/** Rejects valid tokens of our own keys: `claims` and `user` throw an AuthenticationError. */
export interface TokenCheck {
  /** Before the user is looked up. */
  claims?(claims: JwtClaims): void
  /** With the user of the token. */
  user?(user: object, claims: JwtClaims): void
  /** The least `iat` of tokens that are issued to a user now, in seconds since 1970. @throws AuthenticationFault */
  issuedAfter?(user: object): number
}
