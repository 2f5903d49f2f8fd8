import type { JwtClaims, VerifiedClaims } from './request-extra.js'

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
  private?: string | undefined
  /** Public key, or a certificate that holds it: verifies. */
  public?: string | undefined
  /** Passphrase of an encrypted private key. */
  passphrase?: string | undefined
}

/** Rules that a token has to meet besides its signature. */
export interface TokenRules {
  /** Seconds by which clocks may differ, 0 to 300. Default 0. */
  clockTolerance?: number | undefined
  /** `false` accepts tokens without `exp`. Default `true`. */
  requireExp?: boolean | undefined
  /** The `iss` claim that a token must have (RFC 7519 §4.1.1). Default: not checked. */
  issuer?: string | undefined
  /** A token must have one of these in its `aud` claim (RFC 7519 §4.1.3). Default: not checked. */
  audience?: string | readonly string[] | undefined
}

/** What one verifier of tokens asks for, besides the rules of the configuration. */
export interface VerifyRules extends TokenRules {
  /**
   * The purpose of the tokens that are accepted: their header must have one of these as its `typ` (RFC 7515 §4.1.9).
   * Letters are compared in any case, with or without `application/`. Default: `JWT`, `at+jwt` (RFC 9068 §2.1), or none
   * at all; where this is set, a token without `typ` is refused.
   */
  typ?: string | readonly string[] | undefined
}

/** What a token says of itself in its header. */
export interface TokenHeaderOptions {
  /**
   * Its purpose, such as `reset+jwt`: the header's `typ` (RFC 7515 §4.1.9). Default `JWT`. Only `JWT` and `at+jwt` are
   * accepted where no other is asked for.
   */
  typ?: string | undefined
}

/** Configuration of tokens and keys: the option `jwt`. */
export interface JwtConfig extends TokenRules {
  /**
   * HMAC secret: at least 256 bits for HS256, 384 for HS384, 512 for HS512 (RFC 7518 §3.2).
   * Make one with `node -p "crypto.randomBytes(64).toString('base64url')"`.
   */
  secret?: string | Buffer | undefined
  /** Life of the tokens that are issued, in seconds. Default 300. */
  expiry?: number | undefined
  /** The method of everything that names none itself. Default `HS256`. */
  signingMethod?: SigningMethod | undefined
  /** Keys of RS256 … PS512: RSA of 2048 bits or more. */
  rsa?: KeyPairConfig | undefined
  /** Keys of ES256 (P-256), ES384 (P-384) or ES512 (P-521). */
  ecdsa?: KeyPairConfig | undefined
  /** Keys of EdDSA: Ed25519 or Ed448. */
  eddsa?: KeyPairConfig | undefined
  /**
   * Tokens whose signature was good are remembered, so that it is computed once and not on every request;
   * their claims are judged on every request. `false` switches it off. Default: see
   * {@link RememberTokensOptions}.
   */
  rememberTokens?: RememberTokensOptions | false | undefined
}

/** How many tokens are remembered, for each signing method in use. */
export interface RememberTokensOptions {
  /** Tokens; those not used for the longest time are dropped first. Default 10,000. */
  max?: number | undefined
  /**
   * Bytes that all of them together may take, their claims included, by an estimate: a token of 250 characters with
   * five claims counts as about 600. Default 8,388,608 (8 MiB).
   */
  maxBytes?: number | undefined
}

/** What a service remembers of tokens, over all its signing methods. */
export interface TokenStats {
  /** Tokens that are remembered now. */
  readonly size: number
  /** Bytes that they take, by an estimate. */
  readonly bytes: number
  /** Tokens whose signature did not have to be computed, since the service was made. */
  readonly hits: number
  /** Tokens whose signature had to be computed, those that were refused included. */
  readonly misses: number
}

/** The current counts of a service. */
export interface JwtStats {
  /** All zero when `jwt.rememberTokens` is `false`. */
  readonly tokens: TokenStats
}

/** Reads key files: `node:fs`, `node:fs/promises`, or any object with such a `readFile`. */
export interface KeyFileSystem {
  /** Gives the text or the bytes of a file: by a callback, as `node:fs` does it, or by a promise. */
  // Overloads of node:fs differ too much for a narrower type.
  // oxlint-disable-next-line typescript/no-explicit-any -- see the line above
  readFile: (...args: any[]) => any
}

/** What `app.jwtService` offers. */
export interface JwtServiceLike {
  /** The method of everything that names none itself. */
  readonly signingMethod: SigningMethod

  /** Life of the tokens that are issued, in seconds. Default 300. */
  readonly expiry?: number

  /**
   * Reads the key files, once. The plugin does it while the app boots; call it to use a service of
   * your own before that.
   *
   * @throws `ERR_AUTH_KEY`
   */
  load(): Promise<this>

  /**
   * Reads all key files again and swaps all keys at once; when a new key is bad, or does not fit a
   * signing method in use, all the old ones stay in force and the promise rejects.
   *
   * @throws `ERR_AUTH_KEY`
   */
  reload(): Promise<this>

  /** Whether there is a key to sign with a method; default: `jwt.signingMethod`. */
  canSign(signingMethod?: SigningMethod): boolean

  /** Whether there is a key to verify with a method; default: `jwt.signingMethod`. */
  canVerify(signingMethod?: SigningMethod): boolean

  /**
   * Makes sure that a key fits a signing method, now and after every reload.
   *
   * @param wanted - who needs it, for the error
   * @throws `ERR_AUTH_KEY`
   */
  require(signingMethod: SigningMethod, use: 'sign' | 'verify', wanted: string): void

  /**
   * Prepares {@link verify} for many tokens: the key is checked now, the rules are resolved once.
   *
   * @param wanted - who needs it, for the error
   * @throws `ERR_AUTH_KEY`
   */
  verifier(
    signingMethod: SigningMethod | undefined,
    rules: VerifyRules,
    wanted: string,
  ): (token: string) => JwtClaims

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
   * @param claims - an object; its `nbf` and `exp`, if any, are seconds since 1970. Those that the app
   * merges into {@link JwtClaims} have the types that it says
   * @param signingMethod - default: `jwt.signingMethod`
   * @param header - `typ`: what the token is for, unless it stands for a logged-in user
   * @throws `ERR_AUTH_KEY` when there is no fitting key, `ERR_AUTH_CLAIMS` for claims that cannot be
   * signed, `ERR_AUTH_OPTION` for a `typ` that is none
   */
  generateTokenWithClaims(
    claims: Readonly<Partial<JwtClaims>>,
    signingMethod?: SigningMethod,
    header?: TokenHeaderOptions,
  ): string

  /**
   * Verifies a token: first the signature, then its purpose (`typ`), then the claims.
   *
   * @typeParam Claims - more claims that the app expects. Only the compiler uses this: a token is not checked for
   * them. Claims of all tokens of an app are better declared in {@link JwtClaims}.
   * @param token - the compact serialization (RFC 7515 §7.1)
   * @param signingMethod - the one method that is accepted; default: `jwt.signingMethod`
   * @param rules - what differs from the rules of the configuration
   * @returns the claims
   * @throws `AuthenticationError` with `ERR_AUTH_JWT_INVALID`, `ERR_AUTH_JWT_NOT_VALID_YET` or
   * `ERR_AUTH_JWT_EXPIRED`; `ERR_AUTH_KEY` when there is no fitting key
   */
  verify<Claims extends object = JwtClaims>(
    token: string,
    signingMethod?: SigningMethod,
    rules?: VerifyRules,
  ): VerifiedClaims<Claims>

  /** Counts of the remembered tokens; a service that the app wrote itself need not have them. */
  stats?(): JwtStats
}
