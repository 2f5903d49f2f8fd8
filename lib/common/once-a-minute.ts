/** Milliseconds between two reports of one kind. */
const pause = 60_000

/**
 * Keeps a fault that lasts from filling the log.
 *
 * @returns a function that says whether a report is due: true at most once a minute for each kind
 */
export function onceAMinute(): (kind?: string) => boolean {
  const reported = new Map<string, number>()
  return (kind = '') => {
    const now = performance.now()
    if (now - (reported.get(kind) ?? -Infinity) < pause) return false
    reported.set(kind, now)
    return true
  }
}
