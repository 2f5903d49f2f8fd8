import { writeFileSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import writeFileAtomic from 'write-file-atomic'
import { checkKeySetFile, parseKeySetFile } from '../../tokens/keys/entries.js'
import { fail, type Outcome } from '../command.js'
import { codeOf, readText } from '../input.js'
import { quoted, relative, table } from '../text.js'
import { withLock } from './lock.js'
import { isPast, type Changed, type SetKey } from './rotation.js'

/** Reads and checks all keys as startup does it. @throws CliError when it cannot be read; the errors of startup */
export async function readKeySetFile(file: string): Promise<SetKey[]> {
  return parse(await readText(await target(file), 'key set file'), file)
}

/** @param file - its path as it was given, to which the paths in it are relative */
async function parse(text: string, file: string): Promise<SetKey[]> {
  const keys = await checkKeySetFile(text, file, { readFile })
  return parseKeySetFile(text, file).map((entry, index) => ({
    entry,
    kid: String(keys[index]?.kid),
    bits: keys[index]?.bits,
  }))
}

export function keySetTextOf(keys: readonly SetKey[]): string {
  const entries = keys.map(({ entry }) => entry)
  return `${JSON.stringify(entries, null, 2)}\n`
}

/** The file itself, where the path is that of a symbolic link. */
async function target(file: string): Promise<string> {
  try {
    return await realpath(file)
  } catch (error) {
    return fail(
      `the key set file ${quoted(file)} cannot be read (${codeOf(error)}).`,
      'Make one with: npx fastify-authn keys init ES256 --key-set keys.json',
    )
  }
}

/**
 * Replaces a key set file while no other process changes it. Whoever reads it finds all of the old key set or all of the
 * new one, also after a crash at any moment.
 * @throws CliError; nothing was changed then
 */
export async function changeKeySet(
  file: string,
  change: (keys: readonly SetKey[]) => Promise<Changed>,
): Promise<Changed> {
  const real = await target(file)
  return withLock(real, async (requireLock) => {
    const changed = await change(await readKeySetFile(file))
    const text = keySetTextOf(changed.keys)
    // Throws for a key set that would stop a startup, before it is written.
    await parse(text, file)
    await requireLock()
    try {
      // Written by node:fs, which goes on after half a write, as on a disk that is nearly full: write-file-atomic would
      // put the half in the place of the file.
      const tmpfileCreated = (temporary: string) => writeFileSync(temporary, text)
      await writeFileAtomic(real, '', { tmpfileCreated })
    } catch (error) {
      fail(
        `the key set file ${quoted(file)} cannot be written (${codeOf(error)}). Nothing was changed.`,
      )
    }
    return changed
  })
}

/** The members of a key that commands may print, without its secret or private key. */
export function shownKey({ entry, kid }: SetKey) {
  const { alg, state, since = null, until = null, legacy = false } = entry
  return { kid, alg, state, since, until, legacy }
}

export function tableOf(keys: readonly SetKey[]): string[] {
  const rows = keys.map((key) => {
    const { kid, alg, state, since, until, legacy } = shownKey(key)
    const notes = [isPast(key.entry) ? '(past)' : '', legacy ? '(legacy)' : '']
    return [kid, alg, state, since ?? '-', [until ?? '-', ...notes].filter(Boolean).join(' ')]
  })
  return table([['kid', 'alg', 'state', 'since', 'until'], ...rows])
}

/** The outcome of a command that has changed a key set. */
export function outcomeOf(keySet: string, changed: Changed, advice: readonly string[]): Outcome {
  const { keys, signs, verifies, made, removed } = changed
  const until = verifies?.entry.until ?? ''
  const name = ({ entry, kid }: SetKey): string => `${entry.alg} ${kid}`
  return {
    lines: [
      signs && `${name(signs)} signs from now on.`,
      verifies &&
        `${name(verifies)} verifies until ${until}, ${relative(Date.parse(until) / 1000)}.`,
      made && `${name(made)} is new, and signs after the next rotation.`,
      ...removed.map((key) => `${name(key)} is removed.`),
    ].filter((line) => line !== undefined),
    json: {
      keySet,
      sign: signs?.kid ?? null,
      verify: verifies?.kid ?? null,
      next: made?.kid ?? null,
      removed: removed.map(({ kid }) => kid),
      keys: keys.map(shownKey),
    },
    aside: advice,
  }
}
