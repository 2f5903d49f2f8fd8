import { randomBytes } from 'node:crypto'
import { algorithmOf } from '../../common/algorithms.js'
import { publicJwk, thumbprintOf } from '../../tokens/keys/key.js'
import { fail } from '../command.js'
import { timeText } from '../times.js'
import { checkPassphrase, defaultBits, makePair, privatePem, publicPem } from '../key-pairs.js'
import type { Environment } from '../../options/environment.js'
import type { RingKey } from './rotation.js'
import type { KeyFileEntry, KeyState } from '../../../types/keys.js'
import type { SigningMethod } from '../../../types/jwt.js'

/** What a new key is to be like. */
export interface Wanted {
  readonly alg: SigningMethod
  readonly state: KeyState
  /** When it came into that state, in milliseconds since 1970. */
  readonly since?: number | undefined
  /** The size of an RSA key. */
  readonly bits?: number | undefined
  /** The variable that holds the passphrase with which a private key is encrypted. */
  readonly passphraseEnv?: string | undefined
}

/**
 * Makes a key for a ring.
 *
 * @throws CliError when the key is to be encrypted and the variable of the passphrase is not set: it is never written
 * unencrypted into a ring whose keys are
 */
export async function makeKey(
  { alg, state, since, bits = defaultBits, passphraseEnv }: Wanted,
  env: Environment,
): Promise<RingKey> {
  const { family, minimumBits = 0 } = algorithmOf(alg)
  const dated = since === undefined ? {} : { since: timeText(since, Math.floor) }
  if (family === 'secret') {
    if (passphraseEnv !== undefined) {
      fail(
        `the keys of this ring are encrypted, and a secret for ${alg} cannot be. Nothing was changed.`,
        'Make a ring of its own for it, with keys init.',
      )
    }
    // A random name, since none may be made of the secret. Hexadecimal, so that it does not begin with "-".
    const kid = randomBytes(16).toString('hex')
    const secret = randomBytes(minimumBits / 8).toString('base64url')
    return { entry: { alg, kid, state, ...dated, secret }, kid }
  }
  const passphrase = passphraseEnv === undefined ? undefined : passphraseOf(passphraseEnv, env)
  const { privateKey, publicKey } = await makePair(alg, bits)
  const kid = thumbprintOf(publicJwk(publicPem(publicKey)))
  const entry: KeyFileEntry = {
    alg,
    kid,
    state,
    ...dated,
    ...(passphraseEnv !== undefined && { passphraseEnv }),
    private: privatePem(privateKey, passphrase),
  }
  return { entry, kid, ...(family === 'rsa' && { bits }) }
}

/** Makes a `next` key with the passphrase of another one, and with its size where both are of RSA. */
export function makeLike(
  alg: SigningMethod,
  { entry, bits }: RingKey,
  env: Environment,
): Promise<RingKey> {
  const isLike = algorithmOf(alg).family === algorithmOf(entry.alg).family
  const { passphraseEnv } = entry
  return makeKey({ alg, state: 'next', passphraseEnv, bits: isLike ? bits : undefined }, env)
}

function passphraseOf(name: string, env: Environment): string {
  const { [name]: passphrase = '' } = env
  if (passphrase !== '') return checkPassphrase(passphrase, name)
  return fail(
    `the keys of this ring are encrypted, and ${name}, which holds the passphrase, is not set. Nothing was changed.`,
    'Set it, or name a file that does: --env .env',
  )
}
