import { generateKeyPair, randomBytes, type KeyObject } from 'node:crypto'
import { mkdir, unlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { algorithmOf } from '../common/algorithms.js'
import { fail } from './command.js'
import { numberOption } from './environment.js'
import { codeOf } from './input.js'
import { quoted } from './text.js'
import type { MakeNext, SetKey } from './key-set/rotation.js'
import type { KeyState } from '../../types/keys.js'
import type { SigningMethod } from '../../types/jwt.js'

const generate = promisify(generateKeyPair)
const defaultBits = 3072

/** Makes a key pair for a method that is not HMAC. @param bits - the size of an RSA key */
export function makePair(method: SigningMethod, bits = defaultBits) {
  const { family, curve } = algorithmOf(method)
  if (family === 'rsa') return generate('rsa', { modulusLength: bits })
  return curve === undefined ? generate('ed25519') : generate('ec', { namedCurve: curve })
}

/** PEM text of a private key (PKCS #8), encrypted where there is a passphrase. */
export function privatePem(key: KeyObject, passphrase: string | undefined): string {
  const encryption = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase }
  return key.export({ type: 'pkcs8', format: 'pem', ...encryption }).toString()
}

export const bitsOption = numberOption(
  '--bits <n>',
  `size of an RSA key, 2048 to 8192; default ${defaultBits}`,
  2048,
  8192,
)

export interface Wanted {
  readonly alg: SigningMethod
  readonly state: KeyState
  readonly bits?: number | undefined
  /** The variable that holds the passphrase with which a private key is encrypted. */
  readonly passphraseEnv?: string | undefined
}

/** @throws CliError when the key cannot be encrypted: it is never written unencrypted beside encrypted ones */
export async function makeKey({ alg, state, bits, passphraseEnv }: Wanted): Promise<SetKey> {
  const { family, minimumBits = 0 } = algorithmOf(alg)
  // The name is no thumbprint: one in 64 of those begins with "-" and looks like an option.
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
  const encrypted = passphraseEnv === undefined ? {} : { passphraseEnv }
  const pem = privatePem(privateKey, passphrase)
  return { entry: { alg, kid, state, ...encrypted, private: pem }, kid, bits }
}

export const makeLike: MakeNext = (alg, { entry, bits }) => {
  const isLike = algorithmOf(alg).family === algorithmOf(entry.alg).family
  const { passphraseEnv } = entry
  return makeKey({ alg, state: 'next', bits: isLike ? bits : undefined, passphraseEnv })
}

/**
 * Writes new files with their permissions, all or none, and never over an existing one. Missing folders are created with
 * access for the owner only.
 * @throws CliError that names the file
 */
export async function writeNewFiles(
  files: readonly Readonly<{ file: string; text: string; mode: number }>[],
): Promise<void> {
  const written: string[] = []
  for (const { file, text, mode } of files) {
    try {
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
      // `wx` fails when anything exists there, also a symbolic link.
      await writeFile(file, text, { flag: 'wx', mode })
      written.push(file)
    } catch (error) {
      await Promise.all(written.map((each) => unlink(each)))
      if (codeOf(error) !== 'EEXIST') fail(`${quoted(file)} cannot be written (${codeOf(error)}).`)
      fail(
        `${quoted(file)} exists already. Nothing was written.`,
        'Choose another place, or move the file away.',
      )
    }
  }
}
