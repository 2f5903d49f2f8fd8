import { AuthnUsageError, isUsageError } from '../../errors.js'
import type { MisuseCode } from '../../../types/errors.js'

/** Where a ring stands: the path of a ring file, or null for the list in the options. */
export type RingFile = string | null

/** How errors name an entry. Entries count from 0, as in JavaScript. */
export function entryName(index: number, member = ''): string {
  return `jwt.keys[${index}]${member === '' ? '' : `.${member}`}`
}

/** What errors add after the name of an entry that stands in a file. */
export function inFile(file: RingFile): string {
  return file === null ? '' : ` (ring file ${JSON.stringify(file)})`
}

/**
 * Adds to the error of a key in which file its entry stands.
 *
 * @throws the error, always
 */
export function rethrowIn(file: RingFile, error: unknown): never {
  if (file === null || !isUsageError(error)) throw error
  const message = error.message
    .replace(/^fastify-authn: (option "[^"]*")/, `$1${inFile(file)}`)
    // A ring file names a variable in place of the passphrase.
    .replaceAll(/(jwt\.keys\[\d+\]\.passphrase)\b/g, '$1Env')
  throw new AuthnUsageError(error.code, message, error.cause)
}

/**
 * @param option - what {@link entryName} returns, or `jwt.keys`
 * @param problem - what was found and what was expected
 * @param remedy - what to do; a sentence of its own
 * @throws the error that stops the boot
 */
export function ringError(
  file: RingFile,
  option: string,
  problem: string,
  remedy: string,
  code: MisuseCode = 'ERR_AUTH_OPTION',
): never {
  throw new AuthnUsageError(code, `option "${option}"${inFile(file)}: ${problem} ${remedy}`)
}
