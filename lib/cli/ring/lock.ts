import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../command.js'
import { reasonOf } from '../input.js'
import { quoted } from '../text.js'
import { NoPlainFile, readPlainFile, temporaryName, type Machine } from './files.js'
import { writeNew } from './write.js'

/** A lock that this process holds. */
export interface Lock {
  /** Whether this process still holds it: others break a lock that was held for too long. */
  isOurs(): Promise<boolean>
}

/** What stands in a lock file, and since when. */
interface Holder {
  readonly text: string
  /** Milliseconds since 1970. */
  readonly since: number
  readonly pid: number | null
  readonly mark: string | null
  readonly host: string | null
}

/**
 * Does some work while this process alone holds the lock of a file: a file beside it that names the process, its host
 * and the time. Node.js has no lock of the operating system, and those do not work on every shared disk.
 *
 * @throws CliError when the lock cannot be had
 */
export async function withLock<T>(
  machine: Machine,
  file: string,
  work: (lock: Lock) => Promise<T>,
): Promise<T> {
  const name = `${file}.lock`
  const text = await acquire(machine, name)
  const isOurs = async (): Promise<boolean> => (await holderOf(machine, name))?.text === text
  try {
    return await work({ isOurs })
  } finally {
    if (await isOurs().catch(() => false)) await machine.files.unlink(name).catch(() => undefined)
  }
}

/** @returns the text of the lock, which no other lock has */
async function acquire(machine: Machine, name: string): Promise<string> {
  const end = performance.now() + machine.patience
  for (;;) {
    const text = lockText(machine)
    if (await create(machine, name, text)) return text
    const holder = await holderOf(machine, name)
    if (holder !== null && isStale(machine, holder)) await breakLock(machine, name, holder.text)
    else if (performance.now() >= end) fail(...waitedInVain(machine, name, holder))
    // A random time, so that those that wait do not all come back at the same moment.
    else await sleep(10 + Math.random() * 40)
  }
}

/** Locks of this process so far: each has a text of its own. */
let count = 0

function lockText({ pid, mark, host, now }: Machine): string {
  count += 1
  return `${JSON.stringify({ pid, host, time: new Date(now()).toISOString(), mark, count })}\n`
}

async function create(machine: Machine, name: string, text: string): Promise<boolean> {
  try {
    await writeNew(machine, name, text)
    return true
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === 'EEXIST') return false
    return fail(
      `the lock file ${quoted(name)} cannot be made (${reason}).`,
      'Let the user that runs this write to the folder of the ring.',
    )
  }
}

/** @returns null when nobody holds it any more */
async function holderOf(machine: Machine, name: string): Promise<Holder | null> {
  try {
    const { bytes, written } = await readPlainFile(machine, name)
    const text = bytes.toString()
    const { pid, mark, host, time } = parseLock(text)
    const told = typeof time === 'string' ? Date.parse(time) : Number.NaN
    return {
      text,
      // A time that is missing, or has not come yet, says nothing: then the disk is asked.
      since: told <= machine.now() ? told : written,
      pid: Number.isSafeInteger(pid) && Number(pid) > 0 ? Number(pid) : null,
      mark: typeof mark === 'string' ? mark : null,
      host: typeof host === 'string' ? host : null,
    }
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === 'ENOENT') return null
    // ELOOP: it is a symbolic link.
    const problem = error instanceof NoPlainFile ? error.message : `cannot be read (${reason})`
    return fail(
      `the lock file ${quoted(name)} ${problem}.`,
      'It is not one of ours. Look at it, and take it away.',
    )
  }
}

function parseLock(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return value instanceof Object ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Whether the process that holds a lock is gone, as far as it can be known, or has held it for too long. */
function isStale(machine: Machine, { since, pid, mark, host }: Holder): boolean {
  if (machine.now() - since > machine.longestHold) return true
  if (host !== machine.host || pid === null) return false
  return pid === machine.pid ? mark !== machine.mark : !machine.isRunning(pid)
}

/**
 * Takes a lock away. It is renamed first: if another process has broken it meanwhile and holds a lock of its own, what
 * was renamed is that one, and is put back.
 */
async function breakLock(machine: Machine, name: string, text: string): Promise<void> {
  const { files } = machine
  const taken = temporaryName(machine, name)
  try {
    await files.rename(name, taken)
  } catch (error) {
    if (reasonOf(error) === 'ENOENT') return
    fail(`the old lock file ${quoted(name)} cannot be taken away (${reasonOf(error)}).`)
  }
  const holder = await holderOf(machine, taken)
  // It fails when there is a third lock by now; the second holder finds out before it writes.
  if (holder?.text !== text) await files.link(taken, name).catch(() => undefined)
  await files.unlink(taken)
}

function waitedInVain(
  { patience, now }: Machine,
  name: string,
  holder: Holder | null,
): [string, string] {
  const who = holder?.pid === null ? 'another process' : `process ${holder?.pid}`
  const where = typeof holder?.host === 'string' ? ` on ${quoted(holder.host)}` : ''
  const since = holder === null ? '' : `, for ${Math.round((now() - holder.since) / 1000)} s`
  return [
    `${holder === null ? 'other processes' : `${who}${where}`} held the lock ${quoted(name)}${since}; gave up after ${patience / 1000} s. Nothing was changed.`,
    'Try again. A lock of a process that is gone, or older than 30 seconds, is broken.',
  ]
}
