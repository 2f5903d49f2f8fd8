import { KeyHolder, type KeysInForce } from './key-holder.js'
import { KeySet } from './key-set.js'
import { keyFilePaths, readKeyFiles, type KeyFiles } from './keys/files.js'
import { parseKeys } from './keys/parse.js'
import type { ResolvedJwtConfig } from '../options/resolve-jwt.js'
import type { TokenCounts } from './remembered.js'
import type { KeyFileSystem, KeyLog, SigningMethod } from '../../types/keys.js'

/** The keys of a configuration; those that need no file and are no ring are there at once. */
export function openKeys(
  config: ResolvedJwtConfig,
  fs: KeyFileSystem,
  counts: TokenCounts,
  log: KeyLog,
): KeyHolder {
  if (config.keys !== undefined) {
    // Loaded only where there is a ring.
    const opened = import('./ring/open.js').then(({ openRing }) =>
      openRing(config, fs, counts, log),
    )
    return new KeyHolder(async () => (await opened)(), undefined)
  }
  const signingMethod = config.signingMethod as SigningMethod
  const keysFrom = (files: KeyFiles): KeysInForce =>
    new KeySet(parseKeys(config, files), signingMethod, config.rememberTokens, counts)
  return new KeyHolder(
    async () => keysFrom(await readKeyFiles(config, fs)),
    keyFilePaths(config).size === 0 ? keysFrom(new Map()) : undefined,
  )
}

/** A copy, so that a reload does not see later changes to the caller's object. */
export function copyOf(config: ResolvedJwtConfig): ResolvedJwtConfig {
  const { keys, ...others } = config
  const copy = structuredClone(others)
  // Its entries are not checked yet: they may hold what cannot be cloned.
  return typeof keys === 'object' ? { ...copy, keys: keys.map(copyOfEntry) } : { ...copy, keys }
}

type Entry = Exclude<ResolvedJwtConfig['keys'], string | undefined>[number]

function copyOfEntry(entry: Entry): Entry {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return entry
  const { secret } = entry
  return { ...entry, ...(secret instanceof Uint8Array && { secret: Buffer.from(secret) }) }
}

/** Reports as warnings of the process, for a service that has no log. */
export const processLog: KeyLog = {
  error: ({ err }, message) => warn(`${message}: ${err instanceof Error ? err.message : ''}`),
  warn,
}

function warn(message: string): void {
  process.emitWarning(message, { code: 'AUTHN_KEYS' })
}
