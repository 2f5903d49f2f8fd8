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
 * Writes new files, all or none. It never replaces a file. When one fails, the files and folders that were created
 * by this call are removed, and nothing else. Missing folders are created with access for the owner only.
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
      // `wx` fails when anything exists there, also a symbolic link. It checks and creates in one step, so nobody can
      // put a file there in between; and the mode holds from the beginning.
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

/** Creates missing folders one by one: `mkdir` with `recursive` never ends where the kernel says ENOENT, as in /proc. */
export async function makeFolder(
  folder: string,
  undo: (() => Promise<void>)[] = [],
): Promise<void> {
  // If it is not a folder, the error comes when the file is opened.
  if ((await stat(folder).catch(() => null)) !== null) return
  const parent = path.dirname(folder)
  if (parent !== folder) await makeFolder(parent, undo)
  try {
    await mkdir(folder, { mode: 0o700 })
    undo.push(() => rmdir(folder))
  } catch (error) {
    // Another process has just created the folder, so it is not ours to remove.
    if (reasonOf(error) !== 'EEXIST') throw error
  }
}

/**
 * Warns when every user may write to a folder, or may replace it: they could then put their own keys there.
 *
 * @param option - with which another one is chosen
 */
export async function openFolder(folder: string, option = '--out'): Promise<string[]> {
  const open = await folderOpenToAll(folder)
  if (open === null) return []
  return [
    `Warning: everybody may write to the folder ${quoted(open)}. Choose another one with ${option}.`,
  ]
}

/** The folder that everybody may write to: this one, or one above it; null where there is none. */
export async function folderOpenToAll(folder: string): Promise<string | null> {
  // Windows does not have these permission bits.
  const everybody = new Map([['win32', 0]]).get(process.platform) ?? 0o002
  for (let each = path.resolve(folder), inner = ''; each !== inner;) {
    const { mode } = await stat(each)
    // In a parent folder, the sticky bit keeps other users from renaming this one.
    if ((mode & everybody) !== 0 && (inner === '' || (mode & 0o1000) === 0)) return each
    inner = each
    each = path.dirname(each)
  }
  return null
}
