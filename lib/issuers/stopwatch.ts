/**
 * Starts a stopwatch. It goes by two clocks and believes the one that has gone further: the steady clock stands still
 * while a machine sleeps, and the clock of the wall may be set back, and neither must make a key live longer.
 *
 * @returns a function that tells the milliseconds since
 */
export function stopwatch(): () => number {
  const wall = Date.now()
  const steady = performance.now()
  return () => Math.max(Date.now() - wall, performance.now() - steady)
}
