import path from 'node:path'
import { algorithmOf } from '../../common/algorithms.js'
import { ifUnset, wrongOption } from '../../errors/errors.js'
import { schemaProblemOf } from '../../options/check.js'
import { keyEntrySchema, keyFileEntrySchema } from '../../options/key-set-schemas.js'
import {
  fingerprintOf,
  keyError,
  keyNames,
  pemMarker,
  publicJwk,
  readKeyFile,
  thumbprintOf,
  type Key,
  type NameOf,
} from './key.js'
import { parsePair, parseSecret } from './parse.js'
import type { KeyEntry, KeyFileEntry, KeyFileSystem, PublicJwk } from '../../../types/keys.js'

type AnyEntry = KeyEntry & Pick<KeyFileEntry, 'passphraseEnv'>

const makeOne = 'Give the path of a key set file, or make one with: npx fastify-authn keys init'

export async function readKeyEntries(keys: string | readonly KeyEntry[], fs: KeyFileSystem) {
  if (typeof keys === 'string') {
    const text = await readKeyFile(fs, 'option "jwt.keys"', keys, makeOne)
    return checkKeySetFile(text, keys, fs)
  }
  return parseEntries(checkEntries(keys), fs)
}

/** Checks the text of a key set file as startup does, with the key files that it names, relative to `file`. */
export function checkKeySetFile(text: string, file: string, fs: KeyFileSystem): Promise<Key[]> {
  return parseEntries(parseKeySetFile(text, file), fs, file)
}

/** The entries of a key set file. Their keys are not read. @throws ERR_AUTH_OPTION */
export function parseKeySetFile(text: string, file: string): KeyFileEntry[] {
  let list: unknown
  try {
    // Some editors write a byte order mark.
    list = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    // The error of JSON.parse quotes the text.
    wrong(keyNames('jwt', file)('keys'), 'the file is not JSON.', 'Restore it from a backup.')
  }
  return checkEntries(list, file) as KeyFileEntry[]
}

function wrong(name: string, problem: string, remedy: string): never {
  keyError(name, problem, remedy, 'ERR_AUTH_OPTION')
}

function checkEntries(list: unknown, file?: string): AnyEntry[] {
  if (!Array.isArray(list) || list.length === 0) {
    wrong(keyNames('jwt', file)('keys'), 'expected an array of at least one key.', makeOne)
  }
  return list.map((given: unknown, index) => {
    // A copy without a prototype, so that a polluted Object.prototype adds nothing.
    const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
    const entry: unknown = isObject ? Object.assign(Object.create(null), given) : given
    const schema = file === undefined ? keyEntrySchema : keyFileEntrySchema
    const problem = schemaProblemOf(schema, entry, `jwt.keys[${index}]`)
    if (problem !== null) {
      wrongOption(file === undefined ? problem : `key set file ${JSON.stringify(file)}: ${problem}`)
    }
    checkEntry(entry as AnyEntry, keyNames(`jwt.keys[${index}]`, file))
    return entry as AnyEntry
  })
}

const halves = ['private', 'public', 'secret'] as const

function checkEntry(entry: AnyEntry, nameOf: NameOf): void {
  const { alg, kid, secret, state, until } = entry
  const isHmac = algorithmOf(alg).family === 'secret'
  const allowed: readonly string[] = isHmac ? ['secret'] : ['private', 'public']
  const found = halves.filter((half) => entry[half] !== undefined)
  if (found.length !== 1 || !allowed.includes(String(found[0]))) {
    const unset = halves.some((half) => half in entry) ? ifUnset : ''
    const what = found.join(' and ') || `none of them${unset}`
    const remedy = 'Of a pair, give only the private key: it contains the public one.'
    wrong(nameOf(), `found ${what}, expected ${allowed.join(' or ')} for ${alg}.`, remedy)
  }
  if (secret !== undefined && (kid === undefined || Buffer.from(kid).equals(Buffer.from(secret)))) {
    const problem = kid === undefined ? 'is missing; a secret needs one.' : 'is the secret itself.'
    const remedy = 'Every token shows it: choose another name, such as "2027-01".'
    wrong(nameOf('kid'), problem, remedy)
  }
  for (const member of ['since', 'until'] as const) {
    const day = entry[member]?.slice(0, 10)
    // Date.parse() takes the 31st of February for a day in March.
    if (day === undefined || new Date(day).toISOString().startsWith(day)) continue
    wrong(nameOf(member), `${day} does not exist.`, 'Use a day of the calendar.')
  }
  if (state === 'verify') return
  const remedy = 'Give it the state verify, or change that.'
  if (entry.public !== undefined) wrong(nameOf('public'), 'a public key cannot sign.', remedy)
  if (until !== undefined) wrong(nameOf('until'), 'only a retired key expires.', remedy)
}

async function parseEntries(entries: readonly AnyEntry[], fs: KeyFileSystem, file?: string) {
  const folder = path.dirname(file ?? '')
  const read = (name: string, given: string): Promise<string> =>
    readKeyFile(fs, name, path.isAbsolute(given) ? given : path.join(folder, given))
  const keys: Key[] = []
  const seen = new Map<string, number>()
  // Entries are read one after the other, so that the error is that of the first bad entry.
  for (const [index, entry] of entries.entries()) {
    const nameOf = keyNames(`jwt.keys[${index}]`, file)
    const key = await parseEntry(entry, nameOf, read)
    for (const what of uniqueIn(key)) {
      const twin = seen.get(what)
      if (twin !== undefined) {
        const problem = `has the same ${what.split(':')[0]} as jwt.keys[${twin}].`
        const code = what.startsWith('key') ? 'ERR_AUTH_KEY' : 'ERR_AUTH_OPTION'
        keyError(nameOf(), problem, 'Each key needs its own.', code)
      }
      seen.set(what, index)
    }
    keys.push(key)
  }
  return keys
}

/** The values that no two keys may share. RFC 8725 §3.1 forbids one key for two algorithms. */
function uniqueIn(key: Key): string[] {
  const { alg, kid, state, legacy } = key
  return [
    `key: ${fingerprintOf(key)}`,
    `"kid": ${kid}`,
    ...(state === 'sign' ? [`algorithm and the state sign: ${alg}`] : []),
    ...(legacy ? [`algorithm and legacy true: ${alg}`] : []),
  ]
}

async function parseEntry(
  entry: AnyEntry,
  nameOf: NameOf,
  read: (name: string, file: string) => Promise<string>,
): Promise<Key> {
  const { alg, secret, state, until, legacy = false } = entry
  const common = { alg, state, until: until === undefined ? Infinity : Date.parse(until), legacy }
  if (secret !== undefined) {
    return { ...parseSecret(nameOf('secret'), secret, [alg]), ...common, kid: String(entry.kid) }
  }
  const half = entry.private === undefined ? 'public' : 'private'
  const value = String(entry[half])
  const files = new Map<string, string>()
  if (!pemMarker.test(value)) files.set(value, await read(nameOf(half), value))
  const { passphraseEnv, passphrase = passphraseEnv && process.env[passphraseEnv] } = entry
  if (passphraseEnv !== undefined && !passphrase) {
    const problem = `names the environment variable ${passphraseEnv}, which is not set.`
    keyError(nameOf('passphraseEnv'), problem, 'Set it to the passphrase of the private key.')
  }
  const material = parsePair(nameOf, { [half]: value, passphrase }, [alg], files)
  const jwk = publicJwk(String(material.verify))
  const { kid = thumbprintOf(jwk) } = entry
  return { ...material, ...common, kid, jwk: { ...jwk, kid, alg, use: 'sig' } as PublicJwk }
}
