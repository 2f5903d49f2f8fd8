import { randomUUID } from 'node:crypto'
import { readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../command.js'
import { codeOf } from '../input.js'
import { quoted } from '../text.js'

/** The age from which a lock is taken over, in milliseconds. */
const longestHold = 30_000
/** The same for a lock without content, whose process was killed as it made it. */
const longestWrite = 2000

/**
 * Does some work while no other process works on the same file: a lock file beside it names the process and the time.
 *
 * @param work - is given what to call before it writes: it throws when another process has taken the lock over
 * @param patience - how long to wait for the lock, in milliseconds
 * @throws CliError when the lock cannot be had
 */
export async function withLock<Result>(
  file: string,
  work: (requireLock: () => Promise<void>) => Promise<Result>,
  patience = 10_000,
): Promise<Result> {
  const lock = `${file}.lock`
  const id = randomUUID()
  const isOurs = async (): Promise<boolean> => (await holderOf(lock))?.id === id
  const end = Date.now() + patience
  while (!(await create(lock, id))) {
    if (await isStale(lock)) await takeAway(lock)
    if (Date.now() > end) {
      fail(
        `process ${(await holderOf(lock))?.pid ?? '?'} held the lock ${quoted(lock)} for too long. Nothing was changed.`,
        'Try again. A lock older than 30 seconds is taken over.',
      )
    }
    // A random time, so that those that wait do not all come back at the same moment.
    await sleep(10 + Math.random() * 40)
  }
  try {
    return await work(async () => {
      if (!(await isOurs())) fail('another process has taken the lock over. Nothing was changed.')
    })
  } finally {
    if (await isOurs()) await unlink(lock)
  }
}

/** The content of a lock file. */
interface Holder {
  readonly pid: number
  readonly host: string
  readonly time: string
  readonly id: string
}

/** @returns false when there is one already */
async function create(lock: string, id: string): Promise<boolean> {
  const holder: Holder = { pid: process.pid, host: hostname(), time: new Date().toISOString(), id }
  try {
    await writeFile(lock, JSON.stringify(holder), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    return fail(`the lock file ${quoted(lock)} cannot be made (${codeOf(error)}).`)
  }
}

/** Who holds a lock; undefined for no lock. */
async function holderOf(lock: string): Promise<Partial<Holder> | undefined> {
  try {
    const [text, { mtime }] = await Promise.all([readFile(lock, 'utf8'), stat(lock)])
    if (text.endsWith('}')) return JSON.parse(text) as Holder
    return { time: mtime.toISOString() }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    return fail(`the lock file ${quoted(lock)} cannot be read (${codeOf(error)}).`)
  }
}

/** Whether the process that holds a lock is gone, or has held it for too long. */
async function isStale(lock: string): Promise<boolean> {
  const { pid, host, time = '' } = (await holderOf(lock)) ?? {}
  if (Date.now() - Date.parse(time) > (pid === undefined ? longestWrite : longestHold)) return true
  // The processes of other hosts, on a shared disk, cannot be seen from here.
  return host === hostname() && !isRunning(Number(pid))
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

/**
 * Takes a stale lock away. A second lock lets one process at a time do it, who looks again: otherwise one that is late
 * would take away the new lock of the next process.
 */
async function takeAway(lock: string): Promise<void> {
  const guard = `${lock}.stale`
  if (await create(guard, randomUUID())) {
    if (await isStale(lock)) await unlink(lock)
    await unlink(guard)
  } else if (await isStale(guard)) {
    await rm(guard, { force: true })
  }
}
