import { isBareKey, pemMarker } from './key-material.js'
import { keyError, pairHalves, pairNames } from './keys.js'
import type { JwtConfig, KeyFileSystem } from '../../types/jwt.js'

/** Contents of the key files, by path. */
export type KeyFiles = ReadonlyMap<string, string>

/** The paths of all key files that a configuration names. */
export function keyFilePaths(config: JwtConfig): string[] {
  const values = pairNames.flatMap((name) => pairHalves.map((half) => config[name]?.[half]))
  return values.filter((value) => value !== undefined && !pemMarker.test(value)) as string[]
}

/**
 * Reads every key file once.
 *
 * @param fs - any object with `readFile`; node:fs is asked through its promises
 * @throws ERR_AUTH_KEY that names the option and the file
 */
export async function readKeyFiles(config: JwtConfig, fs: KeyFileSystem): Promise<KeyFiles> {
  const paths = [...new Set(keyFilePaths(config))]
  const texts = await Promise.all(paths.map((path) => readKeyFile(config, fs, path)))
  return new Map(paths.map((path, index) => [path, texts[index] as string]))
}

async function readKeyFile(config: JwtConfig, fs: KeyFileSystem, path: string): Promise<string> {
  if (isBareKey(path)) {
    // Not a path at all, and nothing to be quoted.
    return keyError(
      optionOfPath(config, path),
      'holds a JSON Web Key, or a key without the lines of PEM.',
      'Give PEM text, with its BEGIN and END lines, or the path of a PEM file.',
    )
  }
  const { promises } = fs as { promises?: KeyFileSystem }
  const reader = typeof promises?.readFile === 'function' ? promises : fs
  try {
    const content: string | Uint8Array = await reader.readFile(path)
    return typeof content === 'string' ? content : Buffer.from(content).toString()
  } catch (error) {
    const option = optionOfPath(config, path)
    const reason = (error as NodeJS.ErrnoException | null)?.code ?? 'unknown reason'
    return keyError(
      option,
      `the key file ${JSON.stringify(path)} cannot be read (${reason}).`,
      'Give PEM text, or the path of a PEM file that the process may read.',
      error,
    )
  }
}

function optionOfPath(config: JwtConfig, path: string): string {
  const places = pairNames.flatMap((name) => pairHalves.map((half) => ({ name, half })))
  const place = places.find(({ name, half }) => config[name]?.[half] === path)
  return `jwt.${place?.name}.${place?.half}`
}
