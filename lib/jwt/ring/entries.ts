import { wrongOption } from '../../errors.js'
import { problemOf } from '../../options/check.js'
import { keyEntrySchema, keyFileEntrySchema } from '../../options/ring-schemas.js'
import { rules, type AnyEntry } from './entry-rules.js'
import { entryName, inFile, ringError, type RingFile } from './place.js'
import { timeOf } from './times.js'
import type { KeyEntry, KeyFileEntry } from '../../../types/keys.js'

/** The most keys of a ring. A longer one has grown by mistake. */
const most = 100

/**
 * Reads the text of a ring file, and checks everything that can be checked without its keys.
 *
 * @param file - its path, for errors
 * @returns its entries as they stand there
 * @throws ERR_AUTH_OPTION that names the entry
 */
export function parseRingFile(text: string, file: string): KeyFileEntry[] {
  return checkEntries(parseJson(text, file), file)
}

/**
 * Checks the list of `jwt.keys`, as far as that is possible without its keys.
 *
 * @throws ERR_AUTH_OPTION that names the entry
 */
export function checkList(list: unknown): KeyEntry[] {
  return checkEntries(list, null)
}

/** When a key ends, in milliseconds since 1970; `Infinity` for one without `until`. */
export function untilOf({ until }: AnyEntry): number {
  return until === undefined ? Infinity : (timeOf(until) as number)
}

function parseJson(text: string, file: string): unknown {
  try {
    // Some editors begin a file with a byte order mark.
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    // The error of JSON.parse is not passed on, since its message quotes the text.
    return ringError(
      file,
      'jwt.keys',
      'it is no JSON.',
      'Restore it from a backup, or make a new one with: npx fastify-authn keys init',
    )
  }
}

function checkEntries<Entry extends AnyEntry>(list: unknown, file: RingFile): Entry[] {
  if (!Array.isArray(list) || list.length === 0 || list.length > most) {
    const found = Array.isArray(list) ? `an array of ${list.length}` : 'something else'
    const remedy = 'Make a ring with: npx fastify-authn keys init'
    ringError(file, 'jwt.keys', `found ${found}, expected an array of 1 to ${most} keys.`, remedy)
  }
  const entries = list.map((entry: unknown, index) => checkEntry<Entry>(entry, index, file))
  for (const { of, problem, remedy } of single) {
    const seen = new Map<string, number>()
    for (const [index, entry] of entries.entries()) {
      const what = of(entry)
      if (what === null) continue
      const earlier = seen.get(what)
      if (earlier !== undefined) {
        ringError(file, entryName(index), `${problem(entry)} as ${entryName(earlier)}.`, remedy)
      }
      seen.set(what, index)
    }
  }
  return entries
}

/** What two entries must not have in common. */
const single: readonly {
  readonly of: (entry: AnyEntry) => string | null
  readonly problem: (entry: AnyEntry) => string
  readonly remedy: string
}[] = [
  {
    of: ({ kid }) => kid ?? null,
    problem: () => 'has the same "kid"',
    remedy: 'Each key needs one of its own. Leave it out where there is a pair of keys.',
  },
  {
    of: ({ alg, state }) => (state === 'sign' ? alg : null),
    problem: ({ alg }) => `signs with ${alg}, the same algorithm`,
    remedy: 'One key signs for each algorithm: give the others the state next or verify.',
  },
  {
    of: ({ alg, legacy }) => (legacy === true ? alg : null),
    problem: ({ alg }) => `has legacy: true for ${alg}, the same algorithm`,
    remedy: 'One key judges the tokens without a kid. Leave "legacy" out of the others.',
  },
]

function checkEntry<Entry extends AnyEntry>(given: unknown, index: number, file: RingFile): Entry {
  // A copy without a prototype, so that a polluted Object.prototype adds nothing.
  const own: unknown = isObject(given) ? Object.assign(Object.create(null), given) : given
  if (file !== null && isObject(own) && 'passphrase' in own) {
    const problem = 'a passphrase beside its key protects nothing.'
    const remedy = 'Give the name of an environment variable: "passphraseEnv": "RING_PASSPHRASE"'
    ringError(file, entryName(index, 'passphrase'), problem, remedy)
  }
  const schema = file === null ? keyEntrySchema : keyFileEntrySchema
  const problem = problemOf(schema, own, entryName(index))
  if (problem !== null) {
    const named = problem.replace(/^((?:unknown )?option "[^"]*")/, `$1${inFile(file)}`)
    wrongOption(named)
  }
  const entry = own as Entry
  for (const rule of rules) {
    const found = rule(entry)
    if (found !== null) ringError(file, entryName(index, found[0]), found[1], found[2])
  }
  return entry
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
