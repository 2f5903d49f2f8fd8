import { wrongOption } from '../../errors.js'
import { isBareKey, pemMarker } from './detect.js'
import { keyError, pairNames } from './ring.js'
import type { JwtConfig, KeyFileSystem } from '../../../types/jwt.js'

/** Contents of the key files, by path. */
export type KeyFiles = ReadonlyMap<string, string>

/** The paths of the key files that a configuration names, each with the first option that names it. */
export function keyFilePaths(config: JwtConfig): Map<string, string> {
  const options = new Map<string, string>()
  for (const name of pairNames) {
    for (const half of ['private', 'public'] as const) {
      const value = config[name]?.[half]
      const isPath = value !== undefined && !pemMarker.test(value)
      if (isPath && !options.has(value)) options.set(value, `jwt.${name}.${half}`)
    }
  }
  return options
}

/**
 * Reads each key file that the configuration names, once.
 *
 * @param fs - any object with `readFile`
 * @throws ERR_AUTH_KEY that names the option and the file
 */
export async function readKeyFiles(config: JwtConfig, fs: KeyFileSystem): Promise<KeyFiles> {
  const texts = [...keyFilePaths(config)].map(
    async ([path, option]) => [path, await readKeyFile(option, path, fs)] as const,
  )
  return new Map(await Promise.all(texts))
}

/**
 * Reads the key file that an option names.
 *
 * @param value - the option, which may also hold a key or a passphrase in place of a path
 * @param path - where the file is; default: `value`
 * @throws ERR_AUTH_KEY that names the option and the file
 */
export async function readKeyFile(
  option: string,
  value: string,
  fs: KeyFileSystem,
  path = value,
): Promise<string> {
  if (isBareKey(value)) {
    // The value is a key and not a path: the error must not quote it.
    return keyError(
      option,
      'holds a JSON Web Key, or a key without the lines of PEM.',
      'Give PEM text, with its BEGIN and END lines, or the path of a PEM file.',
    )
  }
  try {
    return await readText(path, fs)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException | null)?.code ?? 'unknown reason'
    const remedy = 'Give PEM text, or the path of a PEM file that the process may read.'
    if (isLikePath(value)) {
      keyError(
        option,
        `the key file ${JSON.stringify(path)} cannot be read (${reason}).`,
        remedy,
        error,
      )
    }
    // The original error is not passed on as the cause: its message quotes the path.
    return keyError(
      option,
      `found what is neither PEM text nor a key file that can be read (${reason}); it is not shown, since it may be a passphrase.`,
      remedy,
    )
  }
}

/** The text of a file. Of node:fs, `fs.promises` is used. */
export async function readText(path: string, fs: KeyFileSystem): Promise<string> {
  const { promises } = fs as { promises?: KeyFileSystem }
  const reader = typeof promises?.readFile === 'function' ? promises : fs
  const content: string | Uint8Array = await reader.readFile(path)
  return typeof content === 'string' ? content : Buffer.from(content).toString()
}

/** Whether a value looks like a path and may be shown. Anything else may be a passphrase in the wrong option. */
export function isLikePath(path: string): boolean {
  return (
    /\.(?:pem|key|crt|cer|cert|der|pub|p8|pkcs8|txt|json)$/i.test(path) ||
    /^(?:\.{1,2}[/\\]|[a-z]:\\|\/(?:app|etc|home|mnt|opt|private|proc|root|run|srv|tmp|Users|usr|var)\/)/i.test(
      path,
    )
  )
}

/** @throws ERR_AUTH_OPTION when `fs` has no `readFile` */
export function checkFileSystem(fs: KeyFileSystem): KeyFileSystem {
  if (typeof (fs as Partial<KeyFileSystem> | null)?.readFile === 'function') return fs
  return wrongOption(
    'JwtService: option "fs": expected an object with a function readFile, such as node:fs.',
  )
}
