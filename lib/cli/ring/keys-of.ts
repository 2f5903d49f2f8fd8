import fs from 'node:fs'
import { isUsageError } from '../../errors.js'
import { checkKeySetFile, parseKeySetFile } from '../../tokens/keys/entries.js'
import type { Environment } from '../../options/environment.js'
import type { RingKey } from './rotation.js'

/** A ring file as it was read. */
export interface RingText {
  /** The path that was given, to which the paths in the ring are relative. */
  readonly given: string
  readonly text: string
}

/**
 * The keys of a ring file, all of them read and checked as the boot does it.
 *
 * @throws ERR_AUTH_OPTION, ERR_AUTH_KEY for what would stop the boot
 */
export async function keysOf({ given, text }: RingText, _env: Environment): Promise<RingKey[]> {
  const entries = parseKeySetFile(text, given)
  const loaded = await checkKeySetFile(text, given, fs)
  return entries.map((entry, index) => ({
    entry,
    kid: loaded[index]?.kid as string,
    bits: loaded[index]?.bits,
  }))
}

/**
 * The keys of a ring file. Where some cannot be opened, `problem` says why, and the `kid` of a key that is not named in
 * the file is null.
 *
 * @throws ERR_AUTH_OPTION for a file that is no ring
 */
export async function keysAsFar(
  ring: RingText,
  env: Environment,
): Promise<{
  keys: readonly (Omit<RingKey, 'kid'> & { kid: string | null })[]
  problem: string | null
}> {
  const entries = parseKeySetFile(ring.text, ring.given)
  try {
    return { keys: await keysOf(ring, env), problem: null }
  } catch (error) {
    if (!isUsageError(error)) throw error
    const keys = entries.map((entry) => ({ entry, kid: entry.kid ?? null }))
    return { keys, problem: error.message.replace(/^fastify-authn: /, '') }
  }
}

/** The text of a ring file. */
export function ringText(keys: readonly RingKey[]): string {
  const entries = keys.map(({ entry }) => entry)
  return `${JSON.stringify(entries, null, 2)}\n`
}
