import { readFileSync } from 'node:fs'
import { availableParallelism, loadavg, release } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/** Of the clock in which Linux counts the work of its cores, in seconds. */
const tick = 0.01

/** What the cores have done so far, in seconds of one core; null where there is no `/proc`. */
interface Work {
  readonly at: number
  readonly all: number
  readonly own: number
}

/** Says what the numbers were measured on. */
export function describeMachine(): string {
  const [load = 0] = loadavg()
  return `Node ${process.version}, ${availableParallelism()} cores, ${process.platform} ${release()}, load ${load.toFixed(2)}`
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
export async function quiet(): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const others = watchOthers([])
    await sleep(3000)
    if ((others() ?? 0) < 0.1) return
  }
}
