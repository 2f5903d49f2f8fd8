import path from 'node:path'
import { algorithmOf } from '../../common/algorithms.js'
import { wrongOption } from '../../errors.js'
import { problemOf } from '../../options/check.js'
import { keyEntrySchema, keyFileEntrySchema } from '../../options/key-set-schemas.js'
import { pemMarker, readKeyFile } from './files.js'
import { fingerprintOf, keyError, misfit, namesOf, publicJwk, thumbprintOf } from './key.js'
import { parsePair, parseSecret, type KeyFiles, type PairFamily } from './parse.js'
import type { Key, KeyMaterial, NameOf } from './key.js'
import type { Environment } from '../../options/environment.js'
import type { MisuseCode } from '../../../types/errors.js'
import type { KeyEntry, KeyFileEntry, KeyFileSystem } from '../../../types/keys.js'

/** An entry of the option `jwt.keys`, or of a key set file. */
type AnyEntry = KeyEntry & Pick<KeyFileEntry, 'passphraseEnv'>

/** Where entries stand, and what is needed to read what they name. */
interface Place {
  /** The path of the key set file; undefined for a list in the options. */
  readonly file: string | undefined
  readonly fs: KeyFileSystem
  /** Where the passphrases of a key set file are. */
  readonly env: Environment
}

/** The most keys of a key set. A longer one has grown by mistake. */
const maxKeys = 100

/**
 * Reads the key set of the option `jwt.keys` with all its key files, and checks it.
 *
 * @param keys - the entries, or the path of a key set file
 * @throws ERR_AUTH_OPTION, ERR_AUTH_KEY
 */
export async function readKeySet(
  keys: string | readonly KeyEntry[],
  fs: KeyFileSystem,
): Promise<Key[]> {
  if (typeof keys !== 'string') {
    return parseEntries(checkEntries(keys), { file: undefined, fs, env: process.env })
  }
  return checkKeySetFile(await readKeyFile(fs, namesOf('jwt')('keys'), keys), keys, fs)
}

/**
 * Checks the text of a key set file as startup does, with all key files that it names.
 *
 * @param file - where the text stands, or is to stand: paths in it are relative to that
 * @returns a key for each entry, in their order
 * @throws ERR_AUTH_OPTION, ERR_AUTH_KEY
 */
export function checkKeySetFile(
  text: string,
  file: string,
  fs: KeyFileSystem,
  env: Environment = process.env,
): Promise<Key[]> {
  return parseEntries(parseKeySetFile(text, file), { file, fs, env })
}

/**
 * The entries of a key set file. Their keys are not read.
 *
 * @param file - its path, for errors
 * @throws ERR_AUTH_OPTION
 */
export function parseKeySetFile(text: string, file: string): KeyFileEntry[] {
  let list: unknown
  try {
    // Some editors begin a file with a byte order mark.
    list = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    // The error of JSON.parse quotes the text.
    wrong(namesOf('jwt', file)('keys'), 'the file is not JSON.', 'Restore it from a backup.')
  }
  return checkEntries(list, file) as KeyFileEntry[]
}

function wrong(name: string, problem: string, remedy: string): never {
  keyError(name, problem, remedy, 'ERR_AUTH_OPTION')
}

function nameOfEntry(index: number, file: string | undefined): NameOf {
  return namesOf(`jwt.keys[${index}]`, file)
}

function checkEntries(list: unknown, file?: string): AnyEntry[] {
  if (!Array.isArray(list) || list.length === 0 || list.length > maxKeys) {
    wrong(
      namesOf('jwt', file)('keys'),
      `found ${Array.isArray(list) ? `an array of ${list.length}` : 'something else'}, expected an array of 1 to ${maxKeys} keys.`,
      'Make a key set with: npx fastify-authn keys init',
    )
  }
  return list.map((given: unknown, index) => {
    // A copy without a prototype, so that a polluted Object.prototype adds nothing.
    const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
    const entry: unknown = isObject ? Object.assign(Object.create(null), given) : given
    const schema = file === undefined ? keyEntrySchema : keyFileEntrySchema
    const problem = problemOf(schema, entry, `jwt.keys[${index}]`)
    if (problem !== null) {
      wrongOption(file === undefined ? problem : `key set file ${JSON.stringify(file)}: ${problem}`)
    }
    checkEntry(entry as AnyEntry, nameOfEntry(index, file))
    return entry as AnyEntry
  })
}

const halves = ['private', 'public', 'secret'] as const

/** What has to hold between the members of one entry. */
function checkEntry(entry: AnyEntry, nameOf: NameOf): void {
  const { alg, kid, secret, state, until } = entry
  const isHmac = algorithmOf(alg).family === 'secret'
  const allowed: readonly string[] = isHmac ? ['secret'] : ['private', 'public']
  const found = halves.filter((half) => entry[half] !== undefined)
  if (found.length !== 1 || !allowed.includes(String(found[0]))) {
    const what = found.join(' and ') || 'none of them'
    const remedy = 'Of a pair give the private key: its public half comes with it.'
    wrong(nameOf(), `found ${what}, expected ${allowed.join(' or ')} for ${alg}.`, remedy)
  }
  if (secret !== undefined && (kid === undefined || Buffer.from(kid).equals(Buffer.from(secret)))) {
    const problem = kid === undefined ? 'is missing beside a secret.' : 'it is the secret.'
    const remedy = 'Everybody sees it in the tokens: give any other name, such as "2027-01".'
    wrong(nameOf('kid'), problem, remedy)
  }
  if (entry.public !== undefined && state !== 'verify') {
    const remedy = 'Give the private key, or state: "verify".'
    wrong(nameOf('private'), `is missing, but a key with the state ${state} has to sign.`, remedy)
  }
  if (until !== undefined && state !== 'verify') {
    const remedy = 'Leave it out, or set state: "verify".'
    wrong(nameOf('until'), `found a time, but the state is ${state}.`, remedy)
  }
}

async function parseEntries(entries: readonly AnyEntry[], place: Place): Promise<Key[]> {
  const keys: Key[] = []
  // One after the other, so that the error is that of the first bad entry.
  for (const [index, entry] of entries.entries()) {
    keys.push(await parseEntry(entry, nameOfEntry(index, place.file), place))
  }
  for (const { of, problem, code } of unique) {
    const seen = new Map<string, number>()
    for (const [index, key] of keys.entries()) {
      const what = of(key)
      const earlier = what === null ? undefined : seen.get(what)
      if (earlier !== undefined) {
        keyError(nameOfEntry(index, place.file)(), `${problem} as jwt.keys[${earlier}].`, '', code)
      }
      if (what !== null) seen.set(what, index)
    }
  }
  return keys
}

/** What two keys must not have in common. */
const unique: readonly {
  readonly of: (key: Key) => string | null
  readonly problem: string
  readonly code: MisuseCode
}[] = [
  { of: ({ kid }) => String(kid), problem: 'has the same "kid"', code: 'ERR_AUTH_OPTION' },
  {
    of: ({ alg, state }) => (state === 'sign' ? alg : null),
    problem: 'has the state sign for the same algorithm',
    code: 'ERR_AUTH_OPTION',
  },
  {
    of: ({ alg, legacy }) => (legacy ? alg : null),
    problem: 'has legacy: true for the same algorithm',
    code: 'ERR_AUTH_OPTION',
  },
  // Under two names, it could not be revoked by one of them; for two algorithms, see RFC 8725 section 3.1.
  { of: fingerprintOf, problem: 'is the same key', code: 'ERR_AUTH_KEY' },
]

async function parseEntry(entry: AnyEntry, nameOf: NameOf, place: Place): Promise<Key> {
  const { alg, secret, state, until, legacy } = entry
  const material =
    secret === undefined
      ? await parsePairEntry(entry, nameOf, place)
      : parseSecret(nameOf('secret'), secret)
  const problem = misfit(material, alg)
  if (problem !== null) keyError(nameOf(), `${problem}.`, 'Give another key, or another "alg".')
  const jwk = publicJwk(material)
  return {
    ...material,
    alg,
    // A secret has no thumbprint: its entry has a "kid".
    kid: entry.kid ?? thumbprintOf(jwk ?? {}),
    state,
    until: until === undefined ? Infinity : Date.parse(until),
    legacy: legacy === true,
  }
}

async function parsePairEntry(
  entry: AnyEntry,
  nameOf: NameOf,
  { file, fs, env }: Place,
): Promise<KeyMaterial> {
  const half = entry.private === undefined ? 'public' : 'private'
  const value = String(entry[half])
  const files: KeyFiles = pemMarker.test(value)
    ? new Map()
    : new Map([[value, await readKeyFile(fs, nameOf(half), resolved(value, file))]])
  const { passphraseEnv, passphrase = passphraseEnv && env[passphraseEnv] } = entry
  if (passphraseEnv !== undefined && !passphrase) {
    keyError(
      nameOf('passphraseEnv'),
      `names the environment variable ${passphraseEnv}, which is not set.`,
      'Set it to the passphrase of the private key.',
    )
  }
  const { family } = algorithmOf(entry.alg)
  return parsePair(nameOf, family as PairFamily, { [half]: value, passphrase }, files)
}

/** Paths in a key set file are relative to it. */
function resolved(value: string, file: string | undefined): string {
  return file === undefined || path.isAbsolute(value) ? value : path.join(path.dirname(file), value)
}
