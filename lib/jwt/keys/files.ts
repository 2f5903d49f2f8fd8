import { AuthnUsageError } from '../../errors.js'
import { isBareKey, pemMarker } from './detect.js'
import { keyError, pairHalves, pairNames } from './ring.js'
import type { JwtConfig, KeyFileSystem } from '../../../types/jwt.js'

/** Contents of the key files, by path. */
export type KeyFiles = ReadonlyMap<string, string>

/** The paths of all key files that a configuration names. */
export function keyFilePaths(config: JwtConfig): string[] {
  const values = pairNames.flatMap((name) => pairHalves.map((half) => config[name]?.[half]))
  return values.filter((value) => value !== undefined && !pemMarker.test(value)) as string[]
}

/**
 * Reads each key file that the configuration names, once.
 *
 * @param fs - any object with `readFile`
 * @throws ERR_AUTH_KEY that names the option and the file
 */
export async function readKeyFiles(config: JwtConfig, fs: KeyFileSystem): Promise<KeyFiles> {
  const paths = [...new Set(keyFilePaths(config))]
  const texts = await Promise.all(
    paths.map((path) => readKeyFile(optionOfPath(config, path), path, fs)),
  )
  return new Map(paths.map((path, index) => [path, texts[index] as string]))
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

function optionOfPath(config: JwtConfig, path: string): string {
  const places = pairNames.flatMap((name) => pairHalves.map((half) => ({ name, half })))
  const place = places.find(({ name, half }) => config[name]?.[half] === path)
  return `jwt.${place?.name}.${place?.half}`
}

/** @throws ERR_AUTH_OPTION when `fs` has no `readFile` */
export function checkFileSystem(fs: KeyFileSystem): KeyFileSystem {
  if (typeof (fs as Partial<KeyFileSystem> | null)?.readFile === 'function') return fs
  throw new AuthnUsageError(
    'ERR_AUTH_OPTION',
    'JwtService: option "fs": expected an object with a function readFile, such as node:fs.',
  )
}
