import { mkdir, open, rmdir, unlink } from 'node:fs/promises'
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

async function makeFolder(folder: string, undo: (() => Promise<void>)[]): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  // From the outermost that is new to the innermost, so that they go in the other order.
  const made = [path.resolve(first)]
  for (const step of path.relative(first, path.resolve(folder)).split(path.sep)) {
    if (step !== '') made.push(path.join(made.at(-1) as string, step))
  }
  for (const each of made) undo.push(() => rmdir(each))
}
