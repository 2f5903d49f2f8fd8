import t from 'tap'
import { onceAMinute } from '../../lib/common/once-a-minute.js'
import { movableClock } from '../helpers/load.js'

t.test('a report is due once a minute, for each kind by itself', async (t) => {
  const clock = movableClock(t)
  const isDue = onceAMinute()
  t.strictSame([isDue(), isDue(), isDue('slow'), isDue('slow')], [true, false, true, false])
  await clock.advance(59_000)
  t.strictSame([isDue(), isDue('slow')], [false, false])
  await clock.advance(2_000)
  t.strictSame([isDue(), isDue(), isDue('slow')], [true, false, true])
  t.ok(onceAMinute()(), 'others count for themselves')
})
