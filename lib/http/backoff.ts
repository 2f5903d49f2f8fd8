/** Milliseconds from the first failure to the next attempt, doubled by each failure. */
const first = 1_000
/** The longest pause, in milliseconds. */
const longest = 30_000

/** Milliseconds since a time. A clock that is set back makes keys older, never younger. */
export const since = (time: number): number => Math.abs(Date.now() - time)

/** Tells when something that fails may be tried again: up to 1, 2, 4 … 30 seconds after failures. */
export class Backoff {
  #failures = 0
  failedAt = -Infinity

  get hasFailed(): boolean {
    return this.#failures > 0
  }

  fail(): void {
    this.#failures += 1
    this.failedAt = Date.now()
  }

  succeed(): void {
    this.#failures = 0
  }

  /** Milliseconds until the next attempt is allowed; 0 after a success. */
  get pause(): number {
    const pause = this.hasFailed ? Math.min(first * 2 ** (this.#failures - 1), longest) : 0
    return Math.max(pause - since(this.failedAt), 0)
  }
}
