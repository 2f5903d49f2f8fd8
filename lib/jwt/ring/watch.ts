import { onceAMinute } from '../../common/once-a-minute.js'
import type { KeyLog } from '../../../types/keys.js'

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
  const isReportDue = onceAMinute()
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
    if (!isReportDue()) return
    log.error(
      { err },
      'fastify-authn: the keys could not be read again; the old ones stay in force',
    )
  }
}
