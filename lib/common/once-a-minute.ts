/** @returns a function that returns true at most once a minute, so that a lasting fault does not fill the log */
export function onceAMinute(): () => boolean {
  let last = -Infinity
  return () => {
    const now = performance.now()
    if (now - last < 60_000) return false
    last = now
    return true
  }
}
