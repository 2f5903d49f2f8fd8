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
  /** Private key: signs. Its public half also verifies if `public` is left out. */
  private?: string | undefined
  /** Public key, or a certificate that holds it: verifies. */
  public?: string | undefined
  /** Passphrase of an encrypted private key. */
  passphrase?: string | undefined
}

/**
 * The state of a key in a key set. Keys of all three states verify: another process may be one rotation ahead, and sign
 * with the key that is `next` here.
 *
 * - `next`: signs after the next rotation.
 * - `sign`: signs now. There is at most one for each algorithm.
 * - `verify`: retired; verifies until the last token that it has signed has expired.
 */
export type KeyState = 'next' | 'sign' | 'verify'

/** Members of a key set entry, both in the options and in a file. */
interface CommonKeyEntry {
  /** The one algorithm of the key: a key must not be used with two (RFC 8725 §3.1). */
  readonly alg: SigningMethod
  /** Private key: signs and verifies. PEM text, or the path of a PEM file. */
  readonly private?: string | undefined
  /** Public key, instead of a private one: verifies. PEM text, or the path of a PEM file. */
  readonly public?: string | undefined
  /**
   * Names the key in the header of its tokens (RFC 7515 §4.1.4). Default: the thumbprint of the key (RFC 7638).
   * Required for a secret, about which it must reveal nothing.
   */
  readonly kid?: string | undefined
  /** See {@link KeyState}. */
  readonly state: KeyState
  /** When the key got this state: ISO 8601 with a zone. It informs people, and `--settle` of `keys rotate` uses it. */
  readonly since?: string | undefined
  /**
   * When the key stops verifying: ISO 8601 with a zone, such as `2027-01-01T00:10:00Z`. Only for the state `verify`.
   * Default: never.
   */
  readonly until?: string | undefined
  /**
   * `true`: verifies tokens of its algorithm without a `kid`, such as those that were issued before there was a key
   * set. At most one key for each algorithm. Default `false`.
   */
  readonly legacy?: boolean | undefined
}

/** An entry of the option `jwt.keys`. It has one of `private`, `public` and `secret`. */
export interface KeyEntry extends CommonKeyEntry {
  /** HMAC secret, instead of a key: signs and verifies. */
  readonly secret?: string | Uint8Array | undefined
  /** Passphrase of an encrypted private key. */
  readonly passphrase?: string | undefined
}

/** An entry of a key set file, which is a JSON array of them. Paths of PEM files are relative to that file. */
export interface KeyFileEntry extends CommonKeyEntry {
  /** HMAC secret as a string, instead of a key: signs and verifies. */
  readonly secret?: string | undefined
  /**
   * Name of the environment variable with the passphrase of an encrypted private key. The passphrase itself must not be
   * in the file: beside its key it would protect nothing.
   */
  readonly passphraseEnv?: string | undefined
}

/** How many tokens are cached. */
export interface TokenCacheOptions {
  /** The most tokens that are cached; the least recently used ones are dropped first. Default 50,000. */
  max?: number | undefined
  /** Bytes of the cached tokens. Default 8,388,608 (8 MiB). */
  maxBytes?: number | undefined
}

/** The token cache of a service. */
export interface TokenStats {
  /** Tokens that are cached now. */
  readonly size: number
  /** The bytes of the cached tokens. */
  readonly bytes: number
  /** Tokens that were found in the cache, since the service was made. */
  readonly hits: number
  /** Tokens whose signature had to be verified, rejected ones included. */
  readonly misses: number
}

/** The keys of a service. */
export interface KeyStats {
  /** How many keys there are. */
  readonly size: number
  /** Successful reloads since the service was made. */
  readonly reloads: number
  /** Failed reloads, after which the old keys stay in use. */
  readonly failures: number
}

/** The current counts of a service. */
export interface JwtStats {
  /** How many keys there are, and how often they were read again. */
  readonly keys: KeyStats
  /** All zero when `jwt.tokenCache` is `false`. */
  readonly tokens: TokenStats
}

/** Reads key files: `node:fs`, `node:fs/promises`, or any object with such a `readFile`. */
export interface KeyFileSystem {
  /** Reads a file, as a string or as bytes, with a callback, as in `node:fs`, or a promise. */
  // Overloads of node:fs differ too much for a narrower type.
  // oxlint-disable-next-line typescript/no-explicit-any -- see the line above
  readFile: (...args: any[]) => any
}

/** The log to which a service reports failed reloads, such as that of an app. */
export interface KeyLog {
  /** Reports an error, which contains no secrets. */
  error: (details: { readonly err: unknown }, message: string) => unknown
}

/** Public keys (RFC 7517 §5). */
export interface JwkSet {
  /** The keys in the order of the key set. */
  readonly keys: readonly PublicJwk[]
}

/** A public key (RFC 7517 §4), with the members of its type (`n`, `e`; `crv`, `x`, `y`). */
export interface PublicJwk extends Readonly<Record<string, string>> {
  /** The type of the key: `RSA`, `EC` or `OKP`. */
  readonly kty: string
  /** The `kid` in the header of its tokens. */
  readonly kid: string
  /** The one algorithm that it is used with. */
  readonly alg: SigningMethod
  /** The key verifies signatures. */
  readonly use: 'sig'
}
