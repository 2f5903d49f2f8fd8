import t from 'tap'
import { onceAMinute } from '../../lib/common/once-a-minute.js'
import { movableClock } from '../helpers/load.js'

t.test('a report is due once a minute', async (t) => {
  const clock = movableClock(t)
  const isDue = onceAMinute()
  t.strictSame([isDue(), isDue()], [true, false])
  await clock.advance(59_000)
  t.equal(isDue(), false)
  await clock.advance(2_000)
  t.strictSame([isDue(), isDue()], [true, false])
  t.ok(onceAMinute()(), 'others count for themselves')
})
