import path from 'node:path'
import { isUtf8 } from 'node:buffer'
import { CliError, fail } from '../command.js'
import { reasonOf } from '../input.js'
import { quoted } from '../text.js'
import { NoPlainFile, readPlainFile, type Content, type Machine } from './files.js'
import { keysOf, ringText, type RingText } from './keys-of.js'
import { withLock, type Lock } from './lock.js'
import { makeLike } from './new-key.js'
import { removeLeftovers, syncFolder, writeTemporary, type Owner } from './write.js'
import type { Changed, MakeNext, RingKey } from './rotation.js'
import type { Environment } from '../../options/environment.js'

/** A ring file as it was read, and what is known of the file. */
interface RingOnDisk extends RingText {
  /** The file itself, where its path was that of a symbolic link. */
  readonly file: string
  readonly content: Content
}

/** @throws CliError when there is no such file, when it is no regular one, and when it cannot be read */
export async function readRing(machine: Machine, given: string): Promise<RingText> {
  return readFile(machine, given, await realFile(machine, given))
}

async function readFile(machine: Machine, given: string, file: string): Promise<RingOnDisk> {
  try {
    const content = await readPlainFile(machine, file)
    if (!isUtf8(content.bytes)) throw new NoPlainFile('is no UTF-8')
    return { given, file, text: content.bytes.toString(), content }
  } catch (error) {
    const problem =
      error instanceof NoPlainFile ? error.message : `cannot be read (${reasonOf(error)})`
    return fail(`the ring file ${quoted(given)} ${problem}.`)
  }
}

/** The file that is replaced: of a symbolic link its target, so that the link stays. */
async function realFile({ files }: Machine, given: string): Promise<string> {
  try {
    return await files.realpath(given)
  } catch (error) {
    const reason = reasonOf(error)
    if (reason !== 'ENOENT') fail(`the ring file ${quoted(given)} cannot be read (${reason}).`)
    return fail(
      `there is no ring file ${quoted(given)}.`,
      'Make one with: npx fastify-authn keys init ES256 --ring ring.json',
    )
  }
}

/**
 * Replaces a ring file while no other process changes it. Whoever reads it finds all of the old ring or all of the new
 * one, also after a crash at any moment.
 *
 * @param change - makes the new ring of the keys of the old one
 * @throws CliError; nothing was changed then
 */
export async function changeRing(
  machine: Machine,
  given: string,
  env: Environment,
  change: (keys: readonly RingKey[], make: MakeNext) => Promise<Changed>,
): Promise<Changed> {
  const file = await realFile(machine, given)
  return withLock(machine, file, async (lock) => {
    await removeLeftovers(machine, file)
    const before = await readFile(machine, given, file)
    const changed = await change(await keysOf(before, env), (alg, like) => makeLike(alg, like, env))
    const text = ringText(changed.keys)
    // Throws for a ring that would stop the boot of an app, before it is written.
    await keysOf({ given, text }, env)
    await replace(machine, before, text, lock)
    return changed
  })
}

async function replace(
  machine: Machine,
  { given, file, content }: RingOnDisk,
  text: string,
  lock: Lock,
): Promise<void> {
  const { files } = machine
  const owner = ownerOf(machine, content)
  let temporary: string | null = null
  try {
    temporary = await writeTemporary(machine, file, text, owner)
    await checkUntouched(machine, file, content, lock)
    await files.rename(temporary, file)
  } catch (error) {
    if (temporary !== null) await files.unlink(temporary).catch(() => undefined)
    if (error instanceof CliError) throw error
    const problem = `the ring file ${quoted(given)} cannot be written (${reasonOf(error)}). Nothing was changed.`
    fail(problem, owner && 'It belongs to another user: run this as that user.')
  }
  await syncFolder(machine, path.dirname(file))
}

/** Who the new file is to belong to: the owner of the old one, where that is another user. */
function ownerOf({ uid }: Machine, content: Content): Owner | undefined {
  return uid === undefined || uid === content.uid ? undefined : content
}

/** @throws CliError when the ring was changed by somebody who does not know the lock, or has broken ours */
async function checkUntouched(
  machine: Machine,
  file: string,
  { bytes }: Content,
  lock: Lock,
): Promise<void> {
  const remedy = 'Nothing was changed. Try again.'
  if (!(await lock.isOurs())) fail('the lock was broken meanwhile: this took too long.', remedy)
  const now = await readPlainFile(machine, file).catch(() => null)
  if (now?.bytes.equals(bytes) !== true) {
    fail(`the ring file ${quoted(file)} was changed meanwhile, by what does not lock it.`, remedy)
  }
}
