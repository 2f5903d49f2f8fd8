import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { reloadEvery } from '../../../lib/jwt/ring/watch.js'
import { until } from '../../helpers/load.js'

/** A log that keeps what it is told. */
function keepingLog() {
  const errors: string[] = []
  return {
    errors,
    error: ({ err }: { err: unknown }) => errors.push((err as Error).message),
    warn: () => undefined,
  }
}

t.test('reloads until it is stopped', async (t) => {
  const log = keepingLog()
  let count = 0
  const stop = reloadEvery(0.005, async () => (count += 1), log)
  await until(() => count >= 3, 'three reloads')
  stop()
  const before = count
  await wait(30)
  t.equal(count, before)
  t.strictSame(log.errors, [])
})

t.test('failures in a row are reported once a minute', async (t) => {
  const log = keepingLog()
  const { now } = performance
  let minutes = 0
  performance.now = () => minutes * 60_000
  t.teardown(() => (performance.now = now))
  let count = 0
  const stop = reloadEvery(0.005, () => Promise.reject(new Error(`failure ${(count += 1)}`)), log)
  t.teardown(stop)
  await until(() => count >= 5, 'five failures')
  t.strictSame(log.errors, ['failure 1'])
  minutes = 1
  await until(() => log.errors.length === 2, 'a minute later')
})

t.test('an attempt that hangs is not joined by others, and is reported', async (t) => {
  const log = keepingLog()
  let count = 0
  const stop = reloadEvery(0.005, () => new Promise(() => (count += 1)), log)
  t.teardown(stop)
  await until(() => log.errors.length === 1, 'it is reported')
  t.match(log.errors[0], /has not ended yet/)
  t.equal(count, 1)
})
