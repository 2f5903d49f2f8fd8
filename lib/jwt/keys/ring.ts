import { AuthnUsageError } from '../../errors.js'
import { algorithmOf, type KeyFamily } from '../../common/algorithms.js'
import type { SigningMethod } from '../../../types/jwt.js'

export type PairFamily = Exclude<KeyFamily, 'secret'>

/** A key that was read, checked and parsed. */
export interface LoadedKey {
  /** The key to sign with: the secret, or PEM text of the private key. Missing where only a public key is configured. */
  readonly sign?: Buffer | string
  /** The key to verify with: the secret, or PEM text of the public key. */
  readonly verify: Buffer | string
  readonly bits?: number
  readonly curve?: string
}

/** All keys of a configuration: one for each family of methods. */
export type FamilyKeys = Readonly<Partial<Record<KeyFamily, LoadedKey>>>

export const pairNames: readonly PairFamily[] = ['rsa', 'ecdsa', 'eddsa']

/** The last part of an error's message, which says what to do: the command line shows other advice in its place. */
const remedies = new WeakMap<AuthnUsageError, string>()

/** @throws ERR_AUTH_KEY */
export function keyError(option: string, problem: string, remedy = '', cause?: unknown): never {
  const message = `option "${option}": ${problem} ${remedy}`.trimEnd()
  const error = new AuthnUsageError('ERR_AUTH_KEY', message, cause)
  remedies.set(error, remedy)
  throw error
}

/** The last part of a message, which says what to do; `''` where the message does not end with advice. */
export function remedyOf(error: AuthnUsageError): string {
  return remedies.get(error) ?? ''
}

/**
 * The key of a signing method.
 *
 * @param use - whether to sign or to verify; `wanted` names who needs the key, for the error
 * @throws ERR_AUTH_KEY when it is not configured, too short, or on another curve
 */
export function keyFor(
  ring: FamilyKeys,
  method: SigningMethod,
  use: 'sign' | 'verify',
  wanted: string,
): Buffer | string {
  const row = algorithmOf(method)
  const key = ring[row.family]
  const option = row.family === 'secret' ? 'jwt.secret' : `jwt.${row.family}`
  if (key === undefined) {
    return keyError(
      option,
      `is missing, but ${wanted} needs it for ${method}.`,
      'Set it, or choose another signing method.',
    )
  }
  checkFit(option, key, method, wanted)
  return (
    key[use] ??
    keyError(`${option}.private`, `is missing, but ${wanted} needs it to sign.`, 'Set it.')
  )
}

/**
 * Checks that a key is long enough for a method, and on its curve.
 *
 * @param wanted - who needs it, for the error
 * @throws ERR_AUTH_KEY
 */
export function checkFit(
  option: string,
  key: LoadedKey,
  method: SigningMethod,
  wanted: string,
): void {
  const row = algorithmOf(method)
  if (key.bits !== undefined && row.minimumBits !== undefined && key.bits < row.minimumBits) {
    keyError(
      option,
      `is ${key.bits} bits long, expected at least ${row.minimumBits} for ${method} (${wanted}).`,
      'Make one with: node -p "crypto.randomBytes(64).toString(\'base64url\')"',
    )
  }
  if (row.curve !== undefined && key.curve !== row.curve) {
    keyError(
      option,
      `is on the curve ${key.curve}, but ${method} (${wanted}) needs ${row.curve}.`,
      'Give a key on that curve, or choose the signing method of this one.',
    )
  }
}
