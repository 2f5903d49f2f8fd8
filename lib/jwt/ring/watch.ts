import type { KeyLog } from '../../../types/keys.js'

/** Failures that follow each other are reported once in this time, in milliseconds. */
const quiet = 60_000

/**
 * Reads a ring again from time to time. The timer does not keep the process alive.
 *
 * @param seconds - between two reloads
 * @returns a function that stops it
 */
export function reloadEvery(
  seconds: number,
  reload: () => Promise<unknown>,
  log: KeyLog,
): () => void {
  let isReading = false
  let reported = -Infinity
  const timer = setInterval(() => {
    if (isReading) {
      report(new Error('The last attempt to read them has not ended yet.'))
      return
    }
    isReading = true
    reload()
      .catch(report)
      .finally(() => {
        isReading = false
      })
  }, seconds * 1000)
  timer.unref()
  return () => clearInterval(timer)

  function report(err: unknown): void {
    const now = performance.now()
    if (now - reported < quiet) return
    reported = now
    log.error(
      { err },
      'fastify-authn: the keys could not be read again; the old ones stay in force',
    )
  }
}
