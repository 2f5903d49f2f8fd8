/**
 * Claims of a JSON Web Token (RFC 7519 §4). Frozen at any depth: all requests with the token share them.
 * An app that puts more into its tokens says so once, and has it in `request.extra` and from
 * `jwtService.verify()`:
 *
 * ```ts
 * declare module 'fastify-authn' {
 *   interface JwtClaims { readonly role?: 'admin' | 'member' }
 * }
 * ```
 *
 * That a token has such a claim is not checked: declare it optional where older tokens, or other
 * issuers, may lack it.
 */
export interface JwtClaims {
  /** Subject: whom the token is about. The name that `findByUsername` gets, unless `claimName` says otherwise. */
  readonly sub?: unknown
  /** Expiration time, in seconds since 1970. */
  readonly exp?: number
  /** Not before: the time from which the token is valid, in seconds since 1970. */
  readonly nbf?: number
  /** Issued at. Not looked at. */
  readonly iat?: unknown
  /** Issuer. Looked at where `issuer` is configured. */
  readonly iss?: unknown
  /** Audience: whom the token is for. Looked at where `audience` is configured. */
  readonly aud?: unknown
  /** Identifier of the token. Not looked at. */
  readonly jti?: unknown
  /** All other claims, until {@link JwtClaims} is told of them. */
  readonly [claim: string]: unknown
}

/**
 * Claims of which the app knows more than {@link JwtClaims} says.
 *
 * @typeParam Claims - what the app knows
 */
export type VerifiedClaims<Claims extends object> = JwtClaims &
  (string extends keyof Claims ? Claims : Readonly<Claims>)

/** The key of the claims in `request.extra`. */
export type ExtraJwtClaimsKey = 'jwtClaims'

/**
 * `request.extra`: an object without prototype, filled by authenticators. Apps may merge their own
 * keys into this interface.
 */
export interface RequestExtra {
  /**
   * Claims of the token, set as soon as it is valid, also when the user then is unknown
   * (specification, "JWT" 5).
   */
  jwtClaims?: JwtClaims
  /** What other authenticators leave. Apps merge the types of their own keys into {@link RequestExtra}. */
  [key: string | symbol]: unknown
}
