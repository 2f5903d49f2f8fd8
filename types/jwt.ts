import type { JwtClaims } from './request-extra.js'

/**
 * Signing methods (RFC 7518 §3.1, RFC 8037 §3.1). The method belongs to the key, never to the token.
 */
export type SigningMethod =
  | 'HS256'
  | 'HS384'
  | 'HS512'
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA'

/** A pair of asymmetric keys. Each is PEM text, or the path of a PEM file. */
export interface KeyPairConfig {
  /** Private key: signs. Its public half also verifies where `public` is left out. */
  private?: string
  /** Public key, or a certificate that holds it: verifies. */
  public?: string
  /** Passphrase of an encrypted private key. */
  passphrase?: string
}

/** Rules that a token has to meet besides its signature. */
export interface TokenRules {
  /** Seconds by which clocks may differ, 0 to 300. Default 0. */
  clockTolerance?: number
  /** `false` accepts tokens without `exp`. Default `true`. */
  requireExp?: boolean
  /** The `iss` claim that a token must have (RFC 7519 §4.1.1). Default: not looked at. */
  issuer?: string
  /** A token must have one of these in its `aud` claim (RFC 7519 §4.1.3). Default: not looked at. */
  audience?: string | readonly string[]
}

/** Configuration of the tokens and their keys (specification, "Configuration entries"). */
export interface JwtConfig extends TokenRules {
  /**
   * HMAC secret: at least 256 bits for HS256, 384 for HS384, 512 for HS512 (RFC 7518 §3.2).
   * Make one with `node -p "crypto.randomBytes(64).toString('base64url')"`.
   */
  secret?: string | Buffer
  /** Life of the tokens that are issued, in seconds. Default 300. */
  expiry?: number
  /** The method of everything that names none itself. Default `HS256`. */
  signingMethod?: SigningMethod
  /** Keys of RS256 … PS512: RSA of 2048 bits or more. */
  rsa?: KeyPairConfig
  /** Keys of ES256 (P-256), ES384 (P-384) or ES512 (P-521). */
  ecdsa?: KeyPairConfig
  /** Keys of EdDSA: Ed25519 or Ed448. */
  eddsa?: KeyPairConfig
}

/** What reads key files: `node:fs`, `node:fs/promises`, or any object with such a `readFile`. */
export interface KeyFileSystem {
  // Overloads of node:fs differ too much for a narrower type.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readFile: (...args: any[]) => any
}

/** What `app.jwtService` offers (specification, "JWT service"). */
export interface JwtServiceLike {
  /**
   * A token for a user, signed with the default method.
   *
   * @param id - becomes the `sub` claim
   * @returns the token; its claims are `sub`, `nbf` (now) and `exp` (now + `jwt.expiry`), and `iss`
   * and `aud` where `jwt.issuer` and `jwt.audience` are configured
   * @throws `ERR_AUTH_KEY` when the signing key is not configured, `ERR_AUTH_CLAIMS` for an id that
   * is neither a non-empty string nor a finite number
   */
  generateToken(id: string | number): string

  /**
   * A token with claims of the caller plus `nbf` and `exp`, which the caller may override.
   *
   * @param claims - an object; its `nbf` and `exp`, if any, are seconds since 1970
   * @param signingMethod - default: `jwt.signingMethod`
   * @throws `ERR_AUTH_KEY` when there is no fitting key, `ERR_AUTH_CLAIMS` for claims that cannot be
   * signed
   */
  generateTokenWithClaims(
    claims: Readonly<Record<string, unknown>>,
    signingMethod?: SigningMethod,
  ): string

  /**
   * Verifies a token: first the signature, then the claims.
   *
   * @param token - the compact serialization (RFC 7515 §7.1)
   * @param signingMethod - the one method that is accepted; default: `jwt.signingMethod`
   * @param rules - what differs from the rules of the configuration
   * @returns the claims
   * @throws `AuthenticationError` with `ERR_AUTH_JWT_INVALID`, `ERR_AUTH_JWT_NOT_VALID_YET` or
   * `ERR_AUTH_JWT_EXPIRED`; `ERR_AUTH_KEY` when there is no fitting key
   */
  verify(token: string, signingMethod?: SigningMethod, rules?: TokenRules): JwtClaims
}
