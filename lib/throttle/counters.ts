export interface Counted {
  readonly consumedPoints: number
  /** Milliseconds until they are forgotten. */
  readonly msBeforeNext: number
}

/** The most keys that are counted. They take up to 15 MB. */
const most = 50_000

/** Counts failures in memory, each for a while after the first one. With too many keys, the oldest are forgotten. */
export class Counters {
  /** A map keeps the order of the first failures, in which they are forgotten. */
  readonly #counts = new Map<string, { points: number; readonly until: number }>()

  /** @param window - seconds from the first failure until it is forgotten */
  constructor(private readonly window: number) {}

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
    return 1
  }

  /** Takes a failure back. */
  reward(key: string): void {
    const counted = this.#counts.get(key)
    if (counted !== undefined) counted.points = Math.max(0, counted.points - 1)
  }

  set(key: string, points: number, milliseconds: number): void {
    const now = Date.now()
    this.#counts.delete(key)
    this.#counts.set(key, { points, until: now + milliseconds })
    for (const [oldest, { until }] of this.#counts) {
      if (this.#counts.size <= most && until > now) break
      this.#counts.delete(oldest)
    }
  }

  delete(key: string): boolean {
    return this.#counts.delete(key)
  }
}
