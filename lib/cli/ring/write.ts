import path from 'node:path'
import { reasonOf } from '../input.js'
import { makerOf, temporaryName, type Machine } from './files.js'

/** Whose file a new one becomes; without it, that of the user who runs this. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * Creates a file, whole or not at all, readable by its owner alone. Nothing is replaced, and no symbolic link is
 * followed: both are an error EEXIST.
 */
export async function writeNew(machine: Machine, file: string, text: string): Promise<void> {
  const { files } = machine
  const temporary = await writeTemporary(machine, file, text)
  try {
    await files.link(temporary, file)
  } catch (error) {
    if (reasonOf(error) === 'EEXIST') throw error
    // A disk without hard links, such as FAT.
    await writeAndSync(machine, file, text)
  } finally {
    await files.unlink(temporary)
  }
}

/** Writes a new file under a temporary name, all of it, to the disk. @returns its name */
export async function writeTemporary(
  machine: Machine,
  file: string,
  text: string,
  owner?: Owner,
): Promise<string> {
  const temporary = temporaryName(machine, file)
  await writeAndSync(machine, temporary, text, owner)
  return temporary
}

async function writeAndSync(
  { files }: Machine,
  file: string,
  text: string,
  owner?: Owner,
): Promise<void> {
  // `wx` fails when anything is there, also a symbolic link.
  const handle = await files.open(file, 'wx', 0o600)
  try {
    // The mask of the process may have taken away the rights of the owner too.
    await handle.chmod(0o600)
    if (owner !== undefined) await handle.chown(owner.uid, owner.gid)
    await handle.writeFile(text)
    await handle.sync()
  } catch (error) {
    await files.unlink(file).catch(() => undefined)
    throw error
  } finally {
    await handle.close()
  }
}

/** Makes a rename last: the folder too has to reach the disk. Windows cannot open folders, and some disks cannot sync them. */
export async function syncFolder({ files }: Machine, folder: string): Promise<void> {
  try {
    const handle = await files.open(folder, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch {
    // The file is in its place all the same; only a crash of the whole machine could bring the old one back.
  }
}

/** Removes temporary files that a process left behind when it was killed: they hold keys. */
export async function removeLeftovers(machine: Machine, file: string): Promise<void> {
  const { files, now, longestHold, isRunning } = machine
  const folder = path.dirname(file)
  const names = await files.readdir(folder).catch(() => [])
  for (const name of names) {
    const maker = makerOf(machine, path.basename(file), name)
    if (maker === null) continue
    const leftover = path.join(folder, name)
    const { mtimeMs } = await files.lstat(leftover).catch(() => ({ mtimeMs: now() }))
    const isGone = maker.isOurHost && !isRunning(maker.pid)
    if (isGone || now() - mtimeMs > longestHold) await files.unlink(leftover).catch(() => undefined)
  }
}
