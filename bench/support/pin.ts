import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The cores that the servers and the load generator are kept on; null where that cannot be had. */
export const cores = hasTaskset() ? ({ server: 1, load: 0 } as const) : null

function hasTaskset(): boolean {
  if (availableParallelism() < 2) return false
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Keeps a process, with all of its threads, on a core; where that cannot be had, nothing happens. */
export function pin(pid: number, role: 'server' | 'load'): void {
  if (cores === null) return
  execFileSync('taskset', ['-acp', String(cores[role]), String(pid)], { stdio: 'ignore' })
}
