import { constants } from 'node:fs'
import * as promises from 'node:fs/promises'
import os from 'node:os'
import { createHash, randomBytes } from 'node:crypto'

/** The functions of `node:fs/promises` with which rings are read and written. */
export type Files = Pick<
  typeof promises,
  'link' | 'lstat' | 'open' | 'readdir' | 'realpath' | 'rename' | 'stat' | 'unlink'
>

/** What a change of a ring needs of the machine, so that tests can give their own. */
export interface Machine {
  readonly files: Files
  readonly pid: number
  /** Tells this process from earlier ones with the same number, which is often the case in containers. */
  readonly mark: string
  readonly host: string
  /** The user that this process acts as; none on Windows. */
  readonly uid: number | undefined
  /** The time, in milliseconds since 1970. */
  now(): number
  isRunning(pid: number): boolean
  /** How long to wait for the lock, in milliseconds. */
  readonly patience: number
  /** The age in milliseconds from which a lock is broken. */
  readonly longestHold: number
}

export const thisMachine: Machine = {
  files: promises,
  pid: process.pid,
  mark: randomBytes(9).toString('hex'),
  host: os.hostname(),
  uid: process.geteuid?.(),
  now: Date.now,
  isRunning,
  patience: 10_000,
  longestHold: 30_000,
}

/** Whether there is a process of this number. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it is there, and belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Of a ring file 1 MiB is read, as of every file of the command line. */
const longest = 1_048_576

/** What stands in a regular file. Symbolic links are not followed, and nothing waits for a pipe or a device. */
export interface Content {
  readonly bytes: Buffer
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** When it was written last, in milliseconds since 1970. */
  readonly written: number
}

/** Thrown for what is no regular file, or too long. */
export class NoPlainFile extends Error {}

/**
 * @throws NoPlainFile for anything but a regular file of at most 1 MiB
 */
export async function readPlainFile({ files }: Machine, file: string): Promise<Content> {
  // Windows has neither of these flags.
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants as Partial<typeof constants>
  const handle = await files.open(file, Number(O_RDONLY) | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw new NoPlainFile('is not a regular file')
    if (stats.size > longest) throw new NoPlainFile('is longer than 1 MiB')
    const bytes = await handle.readFile()
    const { mode, uid, gid, mtimeMs: written } = stats
    return { bytes, mode, uid, gid, written }
  } finally {
    await handle.close()
  }
}

/** A short text for a host: its name may hold any character. */
function hostMark(host: string): string {
  return createHash('sha256').update(host).digest('hex').slice(0, 8)
}

/** A name beside a file that nobody else has: it tells the host and the process that made it. */
export function temporaryName({ host, pid }: Machine, file: string): string {
  return `${file}.${hostMark(host)}.${pid}.${randomBytes(6).toString('hex')}.tmp`
}

/** The process that a temporary name beside a file tells; null for any other name. */
export function makerOf(
  { host }: Machine,
  base: string,
  name: string,
): { isOurHost: boolean; pid: number } | null {
  if (!name.startsWith(`${base}.`)) return null
  const rest = name.slice(base.length)
  const [, mark, pid] = /^(?:\.lock)?\.([\da-f]{8})\.(\d{1,10})\.[\da-f]{12}\.tmp$/.exec(rest) ?? []
  return pid === undefined ? null : { isOurHost: mark === hostMark(host), pid: Number(pid) }
}
