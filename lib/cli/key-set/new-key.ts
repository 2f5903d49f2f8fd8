import { randomBytes } from 'node:crypto'
import { algorithmOf } from '../../common/algorithms.js'
import { fail } from '../command.js'
import { makePair, privatePem } from '../key-pairs.js'
import type { SetKey } from './rotation.js'
import type { KeyFileEntry, KeyState } from '../../../types/keys.js'
import type { SigningMethod } from '../../../types/jwt.js'

export interface Wanted {
  readonly alg: SigningMethod
  readonly state: KeyState
  /** The size of an RSA key. */
  readonly bits?: number | undefined
  /** The variable that holds the passphrase with which a private key is encrypted. */
  readonly passphraseEnv?: string | undefined
}

/**
 * Makes a key for a key set.
 *
 * @throws CliError when the key is to be encrypted and cannot be: it is never written unencrypted beside encrypted ones
 */
export async function makeKey({ alg, state, bits, passphraseEnv }: Wanted): Promise<SetKey> {
  const { family, minimumBits = 0 } = algorithmOf(alg)
  // Not a thumbprint, of which one in 64 begins with "-" and looks like an option.
  const kid = randomBytes(16).toString('hex')
  if (family === 'secret') {
    if (passphraseEnv !== undefined) {
      fail(`the keys of this key set are encrypted, and a secret for ${alg} cannot be.`)
    }
    const secret = randomBytes(minimumBits / 8).toString('base64url')
    return { entry: { alg, kid, state, secret }, kid }
  }
  const passphrase = passphraseEnv === undefined ? undefined : process.env[passphraseEnv]
  if (passphraseEnv !== undefined && !passphrase) {
    fail(
      `the keys of this key set are encrypted, and ${passphraseEnv}, which holds the passphrase, is not set.`,
      'Set it, or name a file that does: --env .env',
    )
  }
  const { privateKey } = await makePair(alg, bits)
  const entry: KeyFileEntry = {
    alg,
    kid,
    state,
    ...(passphraseEnv !== undefined && { passphraseEnv }),
    private: privatePem(privateKey, passphrase),
  }
  return { entry, kid, bits }
}

/** Makes a `next` key with the passphrase of another one, and with its size where both are of RSA. */
export function makeLike(alg: SigningMethod, { entry, bits }: SetKey): Promise<SetKey> {
  const isLike = algorithmOf(alg).family === algorithmOf(entry.alg).family
  const { passphraseEnv } = entry
  return makeKey({ alg, state: 'next', bits: isLike ? bits : undefined, passphraseEnv })
}
