import type { KeyFileSystem } from '../../../types/keys.js'
import { keyError } from './key.js'

/** The begin of PEM text, anywhere in a string. A key option without it is a path. */
export const pemMarker = /-----\s*BEGIN/i

/**
 * Reads a file that a key option names. Errors do not quote the path, because the option may hold a key or a passphrase
 * by mistake.
 *
 * @param fs - of node:fs, `fs.promises` is used
 * @param name - of the option
 * @throws ERR_AUTH_KEY
 */
export async function readKeyFile(
  fs: KeyFileSystem,
  name: string,
  path: string,
  remedy = 'Give PEM text, or the path of a PEM file that the process may read.',
): Promise<string> {
  const { promises } = fs as { promises?: KeyFileSystem }
  const reader = typeof promises?.readFile === 'function' ? promises : fs
  try {
    const content: string | Uint8Array = await reader.readFile(path)
    return typeof content === 'string' ? content : Buffer.from(content).toString()
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException | null)?.code ?? 'unknown reason'
    return keyError(name, `the file that it names cannot be read (${reason}).`, remedy)
  }
}
