import { limits } from './limits.js'
import { stopwatch } from './stopwatch.js'

/** The time since what has not happened yet. */
export const never = (): number => Infinity

/** Counts the attempts to fetch a key set, and says when the next one is allowed. */
export class Attempts {
  made = 0
  failed = 0
  /** Milliseconds since the last one began. */
  sinceBegun = never
  #sinceFailure = never
  #failedInARow = 0

  /** Whether the last one has failed. */
  get isFailing(): boolean {
    return this.#failedInARow > 0
  }

  /** Milliseconds until the next one is allowed: up to 1, 2, 4 … 30 seconds after failures, and 0 after a success. */
  get pause(): number {
    if (this.#failedInARow === 0) return 0
    const length = limits.firstPause * 2 ** (this.#failedInARow - 1)
    return Math.max(Math.min(length, limits.longestPause) - this.#sinceFailure(), 0)
  }

  begin(): void {
    this.made += 1
    this.sinceBegun = stopwatch()
  }

  succeed(): void {
    this.#failedInARow = 0
  }

  fail(): void {
    this.failed += 1
    this.#failedInARow += 1
    this.#sinceFailure = stopwatch()
  }
}
