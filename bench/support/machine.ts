import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Of the clock in which Linux counts the work of its cores, in seconds. */
const tick = 0.01

/** What the cores have done so far, in seconds of one core; null where there is no `/proc`. */
interface Work {
  readonly at: number
  readonly all: number
  readonly own: number
}

function workOf(pids: readonly number[]): Work | null {
  try {
    const fields = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(/\s+/)
    const [user = 0, nice = 0, system = 0, , , irq = 0, soft = 0, steal = 0] = fields
      .slice(1)
      .map(Number)
    const all = (user + nice + system + irq + soft + steal) * tick
    const own = pids.map(workOfProcess).reduce((sum, work) => sum + work, 0)
    return { at: performance.now(), all, own }
  } catch {
    return null
  }
}

function workOfProcess(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name, in brackets, may hold spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tick
}

/**
 * Watches how much of the cores others use meanwhile, and the host of a virtual machine.
 *
 * @param pids - the processes of the measurement beside this one
 * @returns a function that says how many cores it was since; null when that is not known
 */
export function watchOthers(pids: readonly number[]): () => number | null {
  const ours = [process.pid, ...pids]
  const before = workOf(ours)
  return () => {
    const after = workOf(ours)
    if (before === null || after === null) return null
    const seconds = (after.at - before.at) / 1000
    return Math.max(0, (after.all - before.all - (after.own - before.own)) / seconds)
  }
}

/** Waits until others leave the cores alone for some seconds, or for ten minutes at most. */
async function quiet(): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const others = watchOthers([])
    await sleep(3000)
    if ((others() ?? 0) < 0.1) return
  }
}

/** More foreign work than this, in cores, makes a measurement worthless. */
const tolerable = 0.2

/** Measures, and again if others have disturbed it, as soon as they leave the cores alone; the last one counts. */
export async function undisturbed<Found extends { readonly foreign: number | null }>(
  run: () => Promise<Found>,
  { retries }: { readonly retries: number },
): Promise<Found> {
  let found = await run()
  for (let retry = 0; retry < retries && (found.foreign ?? 0) > tolerable; retry += 1) {
    process.stderr.write(`again: others used ${found.foreign?.toFixed(2)} cores\n`)
    await quiet()
    found = await run()
  }
  return found
}
