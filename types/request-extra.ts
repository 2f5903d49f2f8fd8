/** Claims of a JSON Web Token (RFC 7519 §4). Frozen at any depth: all requests with the token share them. */
export interface JwtClaims {
  readonly sub?: unknown
  readonly exp?: number
  readonly nbf?: number
  readonly iat?: unknown
  readonly iss?: unknown
  readonly aud?: unknown
  readonly jti?: unknown
  readonly [claim: string]: unknown
}

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
  [key: string | symbol]: unknown
}
