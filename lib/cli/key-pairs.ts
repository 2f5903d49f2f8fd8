import { generateKeyPair, type KeyObject, type KeyPairKeyObjectResult as Pair } from 'node:crypto'
import { mkdir, unlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { Option } from 'commander'
import { algorithmOf, type KeyFamily } from '../common/algorithms.js'
import { fail, misuse } from './command.js'
import { codeOf } from './input.js'
import { quoted } from './text.js'
import type { SigningMethod } from '../../types/jwt.js'

const generate = promisify(generateKeyPair)
export const defaultBits = 3072

const makers: Readonly<
  Record<Exclude<KeyFamily, 'secret'>, (method: SigningMethod, bits: number) => Promise<Pair>>
> = {
  rsa: (_, bits) => generate('rsa', { modulusLength: bits }),
  ecdsa: (method) => generate('ec', { namedCurve: String(algorithmOf(method).curve) }),
  eddsa: () => generate('ed25519'),
}

/**
 * Makes a key pair for a method that is not HMAC.
 *
 * @param bits - the size of an RSA key
 */
export function makePair(method: SigningMethod, bits = defaultBits): Promise<Pair> {
  return makers[algorithmOf(method).family as keyof typeof makers](method, bits)
}

/** PEM text of a private key (PKCS #8), encrypted where there is a passphrase. */
export function privatePem(key: KeyObject, passphrase: string | undefined): string {
  const encryption = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase }
  return key.export({ type: 'pkcs8', format: 'pem', ...encryption }).toString()
}

export const bitsOption = new Option(
  '--bits <n>',
  `size of an RSA key, 2048 to 8192; default ${defaultBits}`,
).argParser((text) => {
  const bits = Number(text)
  if (/^\d{4}$/.test(text) && bits >= 2048 && bits <= 8192) return bits
  return misuse('option --bits: expected a whole number from 2048 to 8192.')
})

/** A file to be written, with its permissions. */
export interface NewFile {
  readonly file: string
  readonly text: string
  readonly mode: number
}

/**
 * Writes new files, all or none, and never over an existing one. Missing folders are created with access for the owner
 * only.
 *
 * @throws CliError that names the file
 */
export async function writeNewFiles(files: readonly NewFile[]): Promise<void> {
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
