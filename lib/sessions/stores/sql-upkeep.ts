import type { RowsOf } from './sql-query.js'
import type { SqlStatements } from './sql-statements.js'

/** The most rows that one statement deletes: few, so that it holds their locks for a short time. */
const batch = 500
/** Milliseconds between two searches for sessions and revocations that have expired. */
const pause = 30_000

/** Deletes what has expired from the tables: small batches, at most one of a kind for each call of `run`. */
export function sqlUpkeep(rows: RowsOf, statements: SqlStatements) {
  let nextRound = 0
  let clearUntil = 0
  let isBusy = false
  const remove = async (what: 'clear' | 'sweep' | 'forget'): Promise<number> =>
    Number((await rows(statements[what], [batch]))[0]?.count)
  return {
    /** A swap has left a successor, which has to be deleted when the grace has passed. */
    swapped(graceSeconds: number): void {
      clearUntil = performance.now() + (graceSeconds + 2) * 1000
    },
    /** Does what is due. It never rejects: what fails is done by the next call, or by another process. */
    async run(): Promise<void> {
      const now = performance.now()
      const isRound = now >= nextRound
      if (isBusy || (!isRound && now >= clearUntil)) return
      isBusy = true
      try {
        const counts = [await remove('clear')]
        if (isRound) counts.push(await remove('sweep'), await remove('forget'))
        if (isRound) nextRound = counts.includes(batch) ? now : now + pause
      } catch {
        // The poll for revocations shows that the store is away.
      } finally {
        isBusy = false
      }
    },
  }
}
