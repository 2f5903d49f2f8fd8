import type { RowsOf } from './sql-query.js'
import type { SqlStatements } from './sql-statements.js'

/** The most rows that one statement deletes: few, so that it holds their locks for a short time. */
const batch = 500
/** Milliseconds between two searches for sessions and revocations that have expired. */
const pause = 30_000

/** Deletes what has expired from the tables: small batches, at most one of a kind for each call. */
export class SqlUpkeep {
  readonly #rows: RowsOf
  readonly #statements: SqlStatements
  #nextRound = 0
  #clearUntil = 0
  #isBusy = false

  constructor(rows: RowsOf, statements: SqlStatements) {
    this.#rows = rows
    this.#statements = statements
  }

  /** A swap has left a successor, which has to be deleted when the grace has passed. */
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
      // The poll for revocations shows that the store is away.
    } finally {
      this.#isBusy = false
    }
  }

  async #delete(what: 'clear' | 'sweep' | 'forget'): Promise<number> {
    const [row] = await this.#rows(this.#statements[what], [batch])
    return Number(row?.count)
  }
}
