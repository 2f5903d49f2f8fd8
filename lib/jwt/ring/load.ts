import { createHmac, createPublicKey } from 'node:crypto'
import path from 'node:path'
import { algorithmOf } from '../../common/algorithms.js'
import { pemMarker } from '../keys/detect.js'
import { isLikePath, readKeyFile, readText, type KeyFiles } from '../keys/files.js'
import { checkMadeUp } from '../keys/made-up.js'
import { parsePair, parseSecret } from '../keys/parse.js'
import { checkFit, keyError, type LoadedKey, type PairFamily } from '../keys/ring.js'
import { checkList, parseRingFile, untilOf } from './entries.js'
import { entryName, rethrowIn, ringError, type RingFile } from './place.js'
import { publicJwk, thumbprintOf } from './thumbprint.js'
import type { Environment } from '../../options/environment.js'
import type { AnyEntry } from './entry-rules.js'
import type { KeyFileSystem, SigningMethod } from '../../../types/jwt.js'
import type { KeyEntry, KeyState } from '../../../types/keys.js'

/** A key of a ring: read, checked and parsed. */
export interface RingKey {
  readonly alg: SigningMethod
  readonly kid: string
  readonly state: KeyState
  /** Milliseconds since 1970: from then on it verifies nothing; `Infinity` for never. */
  readonly until: number
  /** Whether it judges tokens of its algorithm that name no key. */
  readonly isLegacy: boolean
  readonly key: LoadedKey
  /** Equal for equal keys: the thumbprint (RFC 7638), or for a secret a digest. */
  readonly id: string
  /** The public half as a JSON Web Key; null for a secret. */
  readonly jwk: Readonly<Record<string, string>> | null
}

/**
 * Reads a ring with its key files, and checks all of it.
 *
 * @param keys - the option `jwt.keys`: the path of a ring file, or the list itself
 * @param env - where the passphrases of a ring file are
 * @throws ERR_AUTH_OPTION, ERR_AUTH_KEY
 */
export async function loadRing(
  keys: string | readonly KeyEntry[],
  fs: KeyFileSystem,
  env: Environment = process.env,
): Promise<RingKey[]> {
  const file = typeof keys === 'string' ? keys : null
  const entries: readonly AnyEntry[] =
    typeof keys === 'string' ? parseRingFile(await readRing(keys, fs), keys) : checkList(keys)
  const ring: RingKey[] = []
  // One after the other, so that the error is that of the first bad entry.
  for (const [index, entry] of entries.entries()) {
    try {
      ring.push(await loadEntry(entry, entryName(index), file, fs, env))
    } catch (error) {
      rethrowIn(file, error)
    }
  }
  requireDistinct(ring, file)
  return ring
}

async function readRing(file: string, fs: KeyFileSystem): Promise<string> {
  const remedy = 'Give the path of a ring file, or make one with: npx fastify-authn keys init'
  try {
    return await readText(file, fs)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException | null)?.code ?? 'unknown reason'
    if (isLikePath(file) && !/[\r\n]/.test(file)) {
      const problem = `the ring file ${JSON.stringify(file)} cannot be read (${reason}).`
      return keyError('jwt.keys', problem, remedy, error)
    }
    // The original error is not passed on as the cause: its message quotes the path.
    return keyError(
      'jwt.keys',
      `found what is no ring file that can be read (${reason}); it is not shown, since it may be a key. Of the text of a ring, JSON.parse makes the list itself.`,
      remedy,
    )
  }
}

async function loadEntry(
  entry: AnyEntry,
  option: string,
  file: RingFile,
  fs: KeyFileSystem,
  env: Environment,
): Promise<RingKey> {
  const { alg, secret, state, kid, legacy } = entry
  const key =
    secret === undefined
      ? await loadPair(entry, option, file, fs, env)
      : loadSecret(secret, `${option}.secret`)
  checkFit(option, key, alg, 'its "alg"')
  const publicKey = typeof key.verify === 'string' ? createPublicKey(key.verify) : null
  const id = publicKey === null ? digestOf(key.verify) : thumbprintOf(publicKey)
  return {
    alg,
    kid: kid ?? id,
    state,
    until: untilOf(entry),
    isLegacy: legacy === true,
    key,
    id,
    jwk: publicKey && publicJwk(publicKey),
  }
}

function loadSecret(secret: string | Uint8Array, option: string): LoadedKey {
  const key = parseSecret(option, secret)
  checkMadeUp(secret, option)
  return key
}

async function loadPair(
  entry: AnyEntry,
  option: string,
  file: RingFile,
  fs: KeyFileSystem,
  env: Environment,
): Promise<LoadedKey> {
  const half = entry.private === undefined ? 'public' : 'private'
  const value = entry[half] as string
  const files: KeyFiles = pemMarker.test(value)
    ? new Map()
    : new Map([[value, await readKeyFile(`${option}.${half}`, value, fs, resolved(value, file))]])
  const passphrase = passphraseOf(entry, option, env)
  const { family } = algorithmOf(entry.alg)
  return parsePair(option, family as PairFamily, { [half]: value, passphrase }, files)
}

/** Paths in a ring file are relative to it. */
function resolved(value: string, file: RingFile): string {
  return file === null || path.isAbsolute(value) ? value : path.join(path.dirname(file), value)
}

function passphraseOf(entry: AnyEntry, option: string, env: Environment): string | undefined {
  const { passphrase, passphraseEnv } = entry as { passphrase?: string; passphraseEnv?: string }
  if (passphraseEnv === undefined) return passphrase
  const { [passphraseEnv]: value = '' } = env
  if (value !== '') return value
  return keyError(
    `${option}.passphraseEnv`,
    `names the environment variable ${passphraseEnv}, which is not set.`,
    'Set it to the passphrase of the private key.',
  )
}

/** HMAC and not a plain hash: it pads its keys with zeros, so secrets that sign alike are equal here too. */
function digestOf(secret: Buffer | string): string {
  return createHmac('sha256', secret).update('fastify-authn').digest('hex')
}

/**
 * A key with two names could not be taken back by one of them; a key with two algorithms is what RFC 8725 section 3.1
 * forbids.
 */
function requireDistinct(ring: readonly RingKey[], file: RingFile): void {
  for (const [index, { alg, kid, id }] of ring.entries()) {
    const earlier = ring.slice(0, index)
    const twin = earlier.findIndex((other) => other.id === id)
    if (twin !== -1) {
      const other = ring[twin]?.alg as string
      const problem =
        other === alg
          ? `is the same key as ${entryName(twin)}.`
          : `is the same key as ${entryName(twin)}, once for ${other} and once for ${alg}.`
      const remedy = 'Make a key of its own for each entry (RFC 8725 section 3.1).'
      ringError(file, entryName(index), problem, remedy, 'ERR_AUTH_KEY')
    }
    const namesake = earlier.findIndex((other) => other.kid === kid)
    if (namesake !== -1) {
      const problem = `has the same "kid" as ${entryName(namesake)}.`
      ringError(file, entryName(index), problem, 'Each key needs one of its own.', 'ERR_AUTH_KEY')
    }
  }
}
