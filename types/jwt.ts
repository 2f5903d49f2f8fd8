import type {
  JwkSet,
  JwtStats,
  KeyEntry,
  KeyPairConfig,
  SigningMethod,
  TokenCacheOptions,
} from './keys.js'
import type { JwtClaims, VerifiedClaims } from './request-extra.js'
import type { TokenHeaderOptions, TokenRules, VerifyRules } from './token-rules.js'

export type * from './keys.js'
export type * from './token-rules.js'

/** Configuration of tokens and keys: the option `jwt`. */
export interface JwtConfig extends TokenRules {
  /**
   * HMAC secret: at least 256 bits for HS256, 384 for HS384, 512 for HS512 (RFC 7518 §3.2).
   * Make one with `node -p "crypto.randomBytes(64).toString('base64url')"`.
   */
  secret?: string | Buffer | undefined
  /**
   * Seconds for which issued tokens are valid, ten years at most; a warning at startup above one day. Default 300.
   */
  expiry?: number | undefined
  /**
   * Field of the stored user with the time since which its tokens are valid: a `Date`, or seconds since 1970 with a
   * fraction; null for all tokens. An older token is a 401, so a change of password can revoke all tokens. Tokens then
   * have the claim `iat`. Default: none.
   */
  validAfterField?: string | undefined
  /**
   * The default algorithm of tokens that are issued and accepted: `HS256`. With `keys` it only selects which key signs
   * by default; it is needed if keys of several algorithms can sign.
   */
  signingMethod?: SigningMethod | undefined
  /** Keys of RS256 … PS512: RSA of 2048 bits or more. */
  rsa?: KeyPairConfig | undefined
  /** Keys of ES256 (P-256), ES384 (P-384) or ES512 (P-521). */
  ecdsa?: KeyPairConfig | undefined
  /** Keys of EdDSA: Ed25519 or Ed448. */
  eddsa?: KeyPairConfig | undefined
  /**
   * A key set, instead of `secret`, `rsa`, `ecdsa` and `eddsa`: its keys can be replaced while tokens of earlier ones
   * are still accepted. A list, or the path of a key set file, which is a JSON array of {@link KeyFileEntry}.
   */
  keys?: string | readonly KeyEntry[] | undefined
  /**
   * Seconds after which the key set is read again, 0 to 86,400; 0 for never. Default: 60 for a key set file, 0 for a
   * list, whose key files are then read again.
   */
  reloadEvery?: number | undefined
  /**
   * The path at which the public keys are published (a JSON Web Key Set, RFC 7517 §5), whatever the prefix of the
   * registration. `true`: `/.well-known/jwks.json`. Default `false`.
   */
  publish?: string | boolean | undefined
  /**
   * The cache of tokens whose signature is valid; their claims are checked at every request. `false` for none. Default:
   * see {@link TokenCacheOptions}.
   */
  tokenCache?: TokenCacheOptions | false | undefined
}

/** The public members of the class `JwtService`, for stand-ins in tests. */
export interface JwtServiceLike {
  /** The signing method of all calls that name none; undefined for a key set in which no key signs. */
  readonly signingMethod: SigningMethod | undefined
  /** Seconds for which issued tokens are valid. */
  readonly expiry: number
  /** The option `jwt.validAfterField`. */
  readonly validAfterField: string | undefined
  /** The `iss` of its tokens: the option `jwt.issuer`. */
  readonly issuer: string | undefined
  /** The `aud` of its tokens: the option `jwt.audience`. */
  readonly audience: readonly string[] | undefined

  /**
   * Reads the key files, once. The plugin does it at startup; call it to use a service of your own before that.
   *
   * @throws `ERR_AUTH_KEY`
   */
  load(): Promise<this>

  /**
   * Reads the key set and all key files again and replaces all keys at once; when a new key is bad, or does not fit a
   * signing method in use, the old ones stay in use and the promise rejects.
   *
   * @throws `ERR_AUTH_KEY`
   */
  reload(): Promise<this>

  /** Whether there is a key to sign with a method; default: `jwt.signingMethod`. */
  canSign(signingMethod?: SigningMethod): boolean

  /** Whether there is a key to verify with a method; default: `jwt.signingMethod`, with `jwt.keys` any. */
  canVerify(signingMethod?: SigningMethod): boolean

  /**
   * Makes sure that a key fits a signing method, now and after every reload.
   *
   * @param signingMethod - default: `jwt.signingMethod`; to verify with `jwt.keys`, any
   * @param wanted - what needs the key, for the error
   * @throws `ERR_AUTH_KEY`
   */
  require(signingMethod: SigningMethod | undefined, use: 'sign' | 'verify', wanted: string): void

  /**
   * Prepares {@link verify} for many tokens: the key is checked now, the rules are resolved once.
   *
   * @param wanted - what needs the key, for the error
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
   * @returns the token, with `sub`, `nbf` (now), `exp` (now + `jwt.expiry`), and the configured `iss` and `aud`
   * @throws `ERR_AUTH_KEY` without a key that signs, `ERR_AUTH_CLAIMS` for an empty string or a number that is not finite
   */
  generateToken(id: string | number): string

  /**
   * A token with claims of the caller plus `nbf` and `exp`, which the caller may override. With an `aud`, it is accepted
   * only if an `audience` is configured.
   *
   * @param claims - an object; its `nbf` and `exp`, if any, are seconds since 1970
   * @param signingMethod - default: `jwt.signingMethod`
   * @param header - `typ`: the purpose of a token that is no access token
   * @throws `ERR_AUTH_KEY` without a fitting key, `ERR_AUTH_CLAIMS` for claims that cannot be signed, `ERR_AUTH_OPTION`
   * for an invalid `typ`
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
   * @param signingMethod - the one method that is accepted; default: `jwt.signingMethod`, with `jwt.keys` that of the key
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

  /** Counts of tokens and keys. */
  stats(): JwtStats

  /** The path of `jwt.publish`; undefined if nothing is published. */
  readonly publish: string | undefined

  /** The public halves of the keys of `jwt.keys` that verify now. */
  jwks(): JwkSet

  /**
   * One string for each key that verifies, equal for equal keys with one algorithm, to find services that accept each
   * other's tokens. It reveals nothing about the keys.
   *
   * @param signingMethod - default: `jwt.signingMethod`, with `jwt.keys` any
   */
  fingerprints(signingMethod?: SigningMethod): string[]
}
