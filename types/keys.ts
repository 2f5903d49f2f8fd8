import type { SigningMethod } from './jwt.js'

/**
 * What a key of a ring is for. Keys of all three states verify: another process may be one rotation ahead, and sign
 * with the key that is `next` here.
 *
 * - `next`: signs after the next rotation.
 * - `sign`: signs now. There is at most one for each algorithm.
 * - `verify`: has signed; verifies until the last token that it signed is over.
 */
export type KeyState = 'next' | 'sign' | 'verify'

/** What an entry of a ring has, whether it stands in the options or in a file. */
interface CommonKeyEntry {
  /** The one algorithm of the key: a key must not be used with two (RFC 8725 §3.1). */
  readonly alg: SigningMethod
  /** Private key: signs and verifies. PEM text, or the path of a PEM file. */
  readonly private?: string | undefined
  /** Public key, in place of a private one: verifies. PEM text, or the path of a PEM file. */
  readonly public?: string | undefined
  /**
   * Names the key in the header of its tokens (RFC 7515 §4.1.4). Default: the thumbprint of the key (RFC 7638). A secret
   * needs one, which says nothing about the secret.
   */
  readonly kid?: string | undefined
  /** See {@link KeyState}. */
  readonly state: KeyState
  /** When the key came into this state: ISO 8601 with a zone. For people; nothing goes by it. */
  readonly since?: string | undefined
  /**
   * From then on the key verifies nothing any more: ISO 8601 with a zone, such as `2027-01-01T00:10:00Z`. Only for the
   * state `verify`. Default: it verifies until it is taken out of the ring.
   */
  readonly until?: string | undefined
  /**
   * `true`: judges tokens of its algorithm without a `kid`, such as those that were issued before there was a ring. At
   * most one key for each algorithm. Default `false`.
   */
  readonly legacy?: boolean | undefined
}

/** An entry of the option `jwt.keys`. It has one of `private`, `public` and `secret`. */
export interface KeyEntry extends CommonKeyEntry {
  /** HMAC secret, in place of a key: signs and verifies. */
  readonly secret?: string | Uint8Array | undefined
  /** Passphrase of an encrypted private key. */
  readonly passphrase?: string | undefined
}

/**
 * An entry of a ring file, which is a JSON array of them. Paths of PEM files are relative to the ring file.
 */
export interface KeyFileEntry extends CommonKeyEntry {
  /** HMAC secret as text, in place of a key: signs and verifies. */
  readonly secret?: string | undefined
  /**
   * Name of the environment variable that holds the passphrase of an encrypted private key. The passphrase itself must
   * not stand in the file: beside its key it would protect nothing.
   */
  readonly passphraseEnv?: string | undefined
}
