import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { algorithmOf } from '../common/algorithms.js'
import { fail, misuse, type Given, type Option } from './command.js'
import type { PairFamily } from '../tokens/keys/parse.js'
import type { SigningMethod } from '../../types/jwt.js'

const generate = promisify(generateKeyPair)
export const defaultBits = 3072
/** The longest passphrase that OpenSSL accepts, in bytes. */
const longestPassphrase = 1024

export interface Pair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const makers: Readonly<Record<PairFamily, (method: SigningMethod, bits: number) => Promise<Pair>>> =
  {
    rsa: (_, bits) => generate('rsa', { modulusLength: bits }),
    ecdsa: (method) => generate('ec', { namedCurve: algorithmOf(method).curve as string }),
    eddsa: () => generate('ed25519'),
  }

/** Makes a key pair for a method that is not HMAC. */
export function makePair(method: SigningMethod, bits: number): Promise<Pair> {
  return makers[algorithmOf(method).family as PairFamily](method, bits)
}

/** PEM text of a private key (PKCS #8), encrypted where there is a passphrase. */
export function privatePem(key: KeyObject, passphrase: string | undefined): string {
  const encryption = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase }
  return key.export({ type: 'pkcs8', format: 'pem', ...encryption }).toString()
}

/** PEM text of a public key (SPKI). */
export function publicPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

/** The option that gives the size of an RSA key. */
export const bitsOption: Option = {
  value: 'n',
  text: `size of an RSA key, 2048 to 8192; default ${defaultBits}`,
}

/**
 * The size of an RSA key, where one is given.
 *
 * @throws CliError for any other size, and where the method is not one of RSA
 */
export function toBits(given: Given, method: SigningMethod): number | undefined {
  const text = given.text('bits')
  if (text === undefined) return undefined
  if (algorithmOf(method).family !== 'rsa') misuse(`option --bits is for RSA, not for ${method}.`)
  const bits = Number(text)
  if (/^\d{4}$/.test(text) && bits >= 2048 && bits <= 8192) return bits
  return misuse('option --bits: expected a whole number from 2048 to 8192.')
}

/**
 * @param name - what it is called in the error
 * @throws CliError for a passphrase that no server could use
 */
export function checkPassphrase(passphrase: string, name = 'the passphrase'): string {
  const bytes = Buffer.byteLength(passphrase)
  if (bytes === 0) fail(`${name} is empty.`)
  if (bytes > longestPassphrase) {
    fail(`${name} has ${bytes} bytes, expected ${longestPassphrase} at most.`)
  }
  if (passphrase.includes('\0')) {
    fail(`${name} holds a NUL character, which no environment variable can hold.`)
  }
  return passphrase
}
