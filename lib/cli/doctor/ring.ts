import path from 'node:path'
import { isUsageError } from '../../errors.js'
import { pemMarker } from '../../tokens/keys/files.js'
import { CliError } from '../command.js'
import { folderOpenToAll } from '../new-files.js'
import { readRing } from '../ring/change.js'
import { thisMachine } from '../ring/files.js'
import { keysAsFar } from '../ring/keys-of.js'
import { isPast } from '../ring/rotation.js'
import { quoted, shellWord } from '../text.js'
import { spanInWords } from '../times.js'
import { isSet } from './boot.js'
import { openFile } from './files.js'
import { error, note, warning, type Finding, type Setting } from './finding.js'
import type { KeyFileEntry } from '../../../types/keys.js'

/** Checks a ring file: whether it boots, who may read it, and whether somebody rotates it. */
export async function ringFindings({ env, ring }: Setting): Promise<Finding[]> {
  if (ring === null) return []
  try {
    const { keys, problem } = await keysAsFar(await readRing(thisMachine, ring), env)
    const entries = keys.map(({ entry }) => entry)
    const rotate = `npx fastify-authn keys rotate --ring ${shellWord(ring)}`
    return [
      ...(problem === null ? [] : [unbootable(problem)]),
      ...(await openKeys(ring, entries)),
      ...rules.flatMap((rule) => keys.flatMap((key) => rule(key, entries, rotate))),
      ...secretBeside(env),
    ]
  } catch (fault) {
    if (fault instanceof CliError) return [error(null, fault.message, fault.remedy ?? mend)]
    if (!isUsageError(fault)) throw fault
    return [unbootable(fault.message)]
  }
}

const mend = 'Give the path of a ring file that this user may read.'

function unbootable(message: string): Finding {
  return error(
    null,
    message.replace(/^fastify-authn: /, ''),
    'It stops the boot, and every reload.',
  )
}

/** The ring, and the key files that it names, where others may read or change them. */
async function openKeys(ring: string, entries: readonly KeyFileEntry[]): Promise<Finding[]> {
  const folder = path.dirname(ring)
  const files = entries
    .map((entry) => entry.private)
    .filter((key) => key !== undefined && !pemMarker.test(key))
    .map((file) => path.resolve(folder, file as string))
  const found = await Promise.all([ring, ...files].map((file) => openFile(file, null, 0o077)))
  const open = await folderOpenToAll(folder)
  if (open === null) return found.flat()
  const problem = `everybody may write to the folder ${quoted(open)}, and put other keys there.`
  return [...found.flat(), warning(null, problem, `chmod o-w ${shellWord(open)}`)]
}

type Key = Awaited<ReturnType<typeof keysAsFar>>['keys'][number]

/** What is probably a mistake in one key. */
type Rule = (key: Key, all: readonly KeyFileEntry[], rotate: string) => Finding[]

const rules: readonly Rule[] = [isOver, neverEnds, hasNoHeir, isOld]

/** The age in seconds from which a key that signs is old. */
const old = 366 * 86_400

function named({ entry, kid }: Key): string {
  return `the key ${quoted(kid ?? '?')} for ${entry.alg}`
}

function isOver(key: Key, _: unknown, rotate: string): Finding[] {
  const { until } = key.entry
  if (!isPast(key.entry, Date.now())) return []
  return [
    note(
      null,
      `${named(key)} is over since ${until}, and verifies nothing.`,
      `The next rotation removes it: ${rotate}`,
    ),
  ]
}

function neverEnds(key: Key): Finding[] {
  const { state, until } = key.entry
  if (state !== 'verify' || until !== undefined) return []
  return [
    warning(
      null,
      `${named(key)} verifies for ever: it has no "until".`,
      'Give it the time at which the last token that it signed is over.',
    ),
  ]
}

function hasNoHeir(key: Key, all: readonly KeyFileEntry[], rotate: string): Finding[] {
  const { state, alg } = key.entry
  if (state !== 'sign') return []
  const signers = all.filter((entry) => entry.state === 'sign')
  const isHeir = (entry: KeyFileEntry): boolean =>
    entry.state === 'next' && (entry.alg === alg || signers.length === 1)
  if (all.some(isHeir)) return []
  return [
    warning(
      null,
      `${named(key)} signs, and no key is next: if it has to be revoked, its successor is one that nobody knows.`,
      `This adds one: ${rotate}${signers.length > 1 ? ` --alg ${alg}` : ''}`,
    ),
  ]
}

function isOld(key: Key, _: unknown, rotate: string): Finding[] {
  const { state, since } = key.entry
  if (state !== 'sign' || since === undefined) return []
  const age = (Date.now() - Date.parse(since)) / 1000
  if (age < old) return []
  return [warning(null, `${named(key)} has been signing for ${spanInWords(age)}.`, rotate)]
}

/** The boot refuses a ring beside another key. */
function secretBeside(env: Setting['env']): Finding[] {
  const set = Object.keys(env).find(
    (name) => /^AUTH_JWT_(?:SECRET|(?:RSA|ECDSA|EDDSA)_P\w+)$/.test(name) && isSet(env, name),
  )
  if (set === undefined) return []
  return [
    note(
      set,
      'is set beside a ring: an app that gives both to the plugin does not boot.',
      'Take it away when the app has moved, or leave configFromEnv().jwt out of the options.',
    ),
  ]
}
