/**
 * Claims of a JSON Web Token (RFC 7519 §4). Frozen at any depth: all requests with the token share them. An app declares
 * its own claims once, for `request.extra` and `jwtService.verify()`:
 *
 * ```ts
 * declare module 'fastify-authn' {
 *   interface JwtClaims { readonly role?: 'admin' | 'member' }
 * }
 * ```
 *
 * Tokens are not checked for such a claim: declare it optional if older tokens or other issuers may lack it.
 */
export interface JwtClaims {
  /** Subject: the user of the token, whom `findByUsername` is asked for unless `claimName` names another claim. */
  readonly sub?: unknown
  /** Expiration time, in seconds since 1970. */
  readonly exp?: number
  /** Not before, in seconds since 1970. */
  readonly nbf?: number
  /** Issued at, in seconds since 1970. Not checked. */
  readonly iat?: unknown
  /** Issuer. Checked when `issuer` is configured. */
  readonly iss?: unknown
  /** Audience: whom the token is for. Rejected if no `audience` is configured. */
  readonly aud?: unknown
  /** Identifier of the token. Not checked. */
  readonly jti?: unknown
  /** All other claims, until the app declares them in {@link JwtClaims}. */
  readonly [claim: string]: unknown
}

/**
 * Claims with types that the app adds to {@link JwtClaims}.
 *
 * @typeParam Claims - the added claims
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
   * The name of the authenticator that has accepted the credentials, as in `use`: `jwt`, `apiKey`, the name of an issuer;
   * `custom` for one without a name. Not set in anonymous requests.
   */
  authenticator?: string
  /**
   * The claims of the token. Set when the token is valid, even if its user is not found.
   */
  jwtClaims?: JwtClaims
  /** The members that other authenticators set. Apps merge the types of their own keys into {@link RequestExtra}. */
  [key: string | symbol]: unknown
}
