import { mkdir, open, rmdir, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import { fail } from './command.js'
import { reasonOf } from './input.js'
import { quoted } from './text.js'

/** A file to be written, with its permissions. */
export interface NewFile {
  readonly file: string
  readonly text: string
  readonly mode: number
}

/**
 * Writes files that must not be there yet, all of them or none: what it has made itself is removed again
 * when one fails, and nothing else. Folders are made where they are missing, for the owner alone.
 *
 * @throws CliError that names the file
 */
export async function writeNewFiles(files: readonly NewFile[]): Promise<void> {
  const undo: (() => Promise<void>)[] = []
  let current = ''
  try {
    for (const { file, text, mode } of files) {
      current = file
      await makeFolder(path.dirname(file), undo)
      // Exclusive: fails on whatever is there, a symbolic link too, and leaves no time between a look and
      // the making. The mode is there from the beginning.
      const handle = await open(file, 'wx', mode)
      undo.push(() => unlink(file))
      try {
        await handle.writeFile(text)
      } finally {
        await handle.close()
      }
    }
  } catch (error) {
    for (const step of undo.toReversed()) await step().catch(() => undefined)
    const reason = reasonOf(error)
    fail(
      reason === 'EEXIST'
        ? `${quoted(current)} is there already. Nothing was written.`
        : `${quoted(current)} cannot be written (${reason}).`,
      reason === 'EEXIST' ? 'Choose another folder with --out, or move the file away.' : undefined,
    )
  }
}

/** One by one: the recursive mkdir of Node.js never ends where the kernel says ENOENT, as in /proc. */
async function makeFolder(folder: string, undo: (() => Promise<void>)[]): Promise<void> {
  // Of something else than a folder, the opening of the file complains.
  if ((await stat(folder).catch(() => null)) !== null) return
  const parent = path.dirname(folder)
  if (parent !== folder) await makeFolder(parent, undo)
  try {
    await mkdir(folder, { mode: 0o700 })
    undo.push(() => rmdir(folder))
  } catch (error) {
    // Somebody else was faster: it is theirs.
    if (reasonOf(error) !== 'EEXIST') throw error
  }
}
