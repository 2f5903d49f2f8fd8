import { within } from '../../common/timeout.js'

/** A store that takes longer than this counts as away, in milliseconds. */
const patience = 2000
/** The most that a swap is waited for, in milliseconds, whatever its deadline says. */
const longest = 10_000

/**
 * Asks a store, but does not wait for ever: clients that have lost their connection may keep a command for as long as
 * they please. What is late is not cancelled, which is why a swap carries a deadline.
 *
 * @param name - of the store, for the error
 * @param milliseconds - how long the answer is waited for
 */
export function inTime<T>(
  name: string,
  question: () => Promise<T>,
  milliseconds = patience,
): Promise<T> {
  const late = (): Error => new Error(`${name}: no answer in ${Math.round(milliseconds)} ms`)
  return within(milliseconds, question(), late)
}

/** The clock of a store, as far as its answers have told it. */
export class StoreClock {
  /** Seconds by which it is before `performance.now()`. */
  #lead: number | null = null

  /** The store has just said what its time is. */
  heard(now: number): void {
    this.#lead = now - performance.now() / 1000
  }

  /** The time until which an ordinary question is waited for; null while the store has told nothing. */
  deadline(): number | null {
    return this.#lead === null ? null : (performance.now() + patience) / 1000 + this.#lead
  }

  /**
   * How long a swap is waited for, in milliseconds: to its deadline. A client that was told earlier that the store is
   * away would come back with a token that was exchanged meanwhile, and maybe after the grace.
   */
  patienceUntil(deadline: number): number {
    if (this.#lead === null) return patience
    const left = (deadline - this.#lead) * 1000 - performance.now()
    return Math.min(Math.max(left, 0), longest)
  }
}
