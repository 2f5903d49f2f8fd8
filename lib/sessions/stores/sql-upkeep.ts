import type { SqlDatabase } from './sql-database.js'
import type { SqlStatements } from './sql-statements.js'

/** The most rows that one statement deletes: few, so that it holds their locks for a short time. */
const batch = 500
/** Milliseconds between two searches for sessions and ends that are over. */
const pause = 30_000

/** Deletes what is over from the tables: small batches, at most one of a kind for each call. */
export class SqlUpkeep {
  readonly #database: SqlDatabase
  readonly #statements: SqlStatements
  #nextRound = 0
  #clearUntil = 0
  #isBusy = false

  constructor(database: SqlDatabase, statements: SqlStatements) {
    this.#database = database
    this.#statements = statements
  }

  /** A swap has left a successor, which has to be deleted when the grace is over. */
  swapped(graceSeconds: number): void {
    this.#clearUntil = performance.now() + (graceSeconds + 2) * 1000
  }

  /** Does what is due. It never rejects: what fails is done by the next call, or by another process. */
  async run(): Promise<void> {
    const now = performance.now()
    const isRound = now >= this.#nextRound
    if (this.#isBusy || (!isRound && now >= this.#clearUntil)) return
    this.#isBusy = true
    try {
      const counts = [await this.#delete('clear')]
      if (isRound) counts.push(await this.#delete('sweep'), await this.#delete('forget'))
      if (isRound) this.#nextRound = counts.includes(batch) ? now : now + pause
    } catch {
      // The question for ends, which is asked all the time, tells that the store is away.
    } finally {
      this.#isBusy = false
    }
  }

  async #delete(what: 'clear' | 'sweep' | 'forget'): Promise<number> {
    const [row] = await this.#database.patiently(this.#statements[what], [batch])
    return Number(row?.count)
  }
}
