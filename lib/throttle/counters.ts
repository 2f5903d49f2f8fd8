import { onceAMinute } from '../common/once-a-minute.js'

export interface Counted {
  readonly consumedPoints: number
  /** Milliseconds until they are forgotten. */
  readonly msBeforeNext: number
}

/** The most keys that are counted. They take up to 15 MB. */
const most = 50_000

/** The most keys where none is dropped before its time, in up to 30 MB. */
const mostKept = 100_000

/** Counts failures in memory, each for a while after the first one. With too many keys, the oldest are forgotten. */
export class Counters {
  /** A map keeps the order of the first failures, in which they are forgotten. */
  readonly #counts = new Map<string, { points: number; readonly until: number }>()

  readonly #isSweepDue = onceAMinute()

  /**
   * @param window - seconds from the first failure until it is forgotten
   * @param keepsAll - whether none is forgotten before: while there is no room, a new key is not kept, and counts as too many
   */
  constructor(
    private readonly window: number,
    readonly keepsAll = false,
  ) {}

  #hasRoom(): boolean {
    if (this.#counts.size < mostKept) return true
    const now = Date.now()
    if (this.#isSweepDue())
      for (const [key, { until }] of this.#counts) if (until <= now) this.#counts.delete(key)
    return this.#counts.size < mostKept
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0
  }

  get(key: string): Counted | null {
    const { points, until } = this.#counts.get(key) ?? { points: 0, until: 0 }
    const msBeforeNext = until - Date.now()
    return msBeforeNext > 0 ? { consumedPoints: points, msBeforeNext } : null
  }

  /** @returns the failures so far, with this one */
  penalty(key: string, seconds = this.window): number {
    const counted = this.#counts.get(key)
    if (counted !== undefined && counted.until > Date.now()) return (counted.points += 1)
    this.set(key, 1, seconds * 1000)
    return this.#counts.has(key) ? 1 : Infinity
  }

  /** Takes a failure back. */
  reward(key: string): void {
    const counted = this.#counts.get(key)
    if (counted === undefined) return
    counted.points = Math.max(0, counted.points - 1)
    if (this.keepsAll && counted.points === 0) this.#counts.delete(key)
  }

  set(key: string, points: number, milliseconds: number): void {
    if (!this.#counts.delete(key) && this.keepsAll && !this.#hasRoom()) return
    const now = Date.now()
    this.#counts.set(key, { points, until: now + milliseconds })
    for (const [oldest, { until }] of this.#counts) {
      if ((this.keepsAll || this.#counts.size <= most) && until > now) break
      this.#counts.delete(oldest)
    }
  }

  delete(key: string): boolean {
    return this.#counts.delete(key)
  }
}
