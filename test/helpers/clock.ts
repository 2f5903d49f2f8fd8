import type { Test } from 'tap'

/** The clock of this process, which stands still unless it is set forward, until the test ends. */
export function clockOf(t: Test): { advance(seconds: number): void } {
  const start = Date.now()
  let ahead = 0
  t.intercept(Date, 'now', { value: () => start + ahead, configurable: true })
  return {
    advance(seconds) {
      ahead += seconds * 1000
    },
  }
}
