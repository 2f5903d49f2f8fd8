/** Claims of a JSON Web Token (RFC 7519 §4). */
export interface JwtClaims {
  sub?: unknown
  exp?: number
  nbf?: number
  iat?: unknown
  iss?: unknown
  aud?: unknown
  jti?: unknown
  [claim: string]: unknown
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
