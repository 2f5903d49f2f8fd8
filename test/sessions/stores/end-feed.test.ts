import { setTimeout as later } from 'node:timers/promises'
import t from 'tap'
import { EndFeed, type EndPage } from '../../../lib/sessions/stores/end-feed.js'
import { settle, until } from '../../helpers/load.js'
import type { SessionWatcher } from '../../../types/sessions.js'

/** A store that answers when the test says so. */
function heldStore() {
  const questions: {
    cursor: string | null
    answer: (page: EndPage) => void
    fail: (error: Error) => void
  }[] = []
  const told: unknown[] = []
  const watcher: SessionWatcher = {
    ended: (ends, now) => void told.push([ends, now]),
    caughtUp: () => void told.push('caughtUp'),
    lost: (error) => void told.push(error),
  }
  const feed = new EndFeed(
    'The store',
    (cursor) =>
      new Promise((answer, fail) => {
        questions.push({ cursor, answer, fail })
      }),
  )
  const asked = async (count: number) => {
    await until(() => questions.length === count, `question ${count} is asked`)
    return questions[count - 1] as (typeof questions)[0]
  }
  return { feed, watcher, told, asked, questions }
}
const end = { sid: 's', until: 2 }
const page = (cursor: string, ends = [end]): EndPage => ({ ends, now: 1, cursor })

t.test('goes on from where it was, and anew after a failure', async (t) => {
  const { feed, watcher, told, asked } = heldStore()
  t.teardown(() => feed.stop())
  feed.start(watcher)
  const first = await asked(1)
  t.equal(first.cursor, null)
  first.answer(page('a'))
  const second = await asked(2)
  t.strictSame(told.splice(0), [[[end], 1], 'caughtUp'], 'first the ends, then that they are all')
  t.equal(second.cursor, 'a')
  second.answer(page('b', []))
  const third = await asked(3)
  t.strictSame([third.cursor, told.splice(0)], ['b', []], 'nothing new, nothing told')
  const away = new Error('away')
  third.fail(away)
  const fourth = await asked(4)
  t.strictSame([fourth.cursor, told.splice(0)], [null, [away]])
  fourth.fail(new Error('still away'))
  const fifth = await asked(5)
  t.strictSame([fifth.cursor, told.splice(0)], [null, []], 'that it is away is told once')
  fifth.answer(page('c'))
  await asked(6)
  t.strictSame(told, [[[end], 1], 'caughtUp'])
})

t.test('a store that is away from the start is told too', async (t) => {
  const { feed, watcher, told, asked } = heldStore()
  t.teardown(() => feed.stop())
  feed.start(watcher)
  const away = new Error('away')
  ;(await asked(1)).fail(away)
  await settle()
  t.strictSame(told, [away])
})

t.test('hints', async (t) => {
  const { feed, watcher, asked, questions } = heldStore()
  t.teardown(() => feed.stop())
  feed.hint()
  feed.start(watcher)
  const first = await asked(1)
  const start = performance.now()
  // While a question is on its way the answer may not have the end in it yet.
  for (let count = 0; count < 100; count++) feed.hint()
  t.equal(questions.length, 1, 'one question at a time')
  first.answer(page('a'))
  const second = await asked(2)
  t.ok(performance.now() - start < 450, 'one that comes meanwhile asks again at once')
  second.answer(page('b'))
  await settle()
  const again = performance.now()
  feed.hint()
  feed.hint()
  const third = await asked(3)
  t.ok(performance.now() - again < 450, 'and one in between too')
  third.answer(page('c'))
})

t.test('after its end nothing is asked or told', async (t) => {
  const { feed, watcher, told, asked, questions } = heldStore()
  feed.start(watcher)
  const first = await asked(1)
  feed.stop()
  feed.hint()
  first.answer(page('a'))
  await settle()
  t.strictSame([told, questions.length], [[], 1])
})

t.test('a store that does not answer is not asked again until it does', async (t) => {
  const { feed, watcher, told, asked, questions } = heldStore()
  t.teardown(() => feed.stop())
  feed.start(watcher)
  const first = await asked(1)
  await until(() => told.length === 1, 'that it is away is told')
  t.match(told, [/The store: no answer in 2000 ms/])
  feed.hint()
  await later(200)
  t.equal(questions.length, 1, 'no second question beside the first')
  first.answer(page('late'))
  const second = await asked(2)
  t.equal(second.cursor, null, 'an answer that came late counts for nothing')
  t.equal(told.length, 1)
  second.answer(page('a'))
  await until(() => told.length === 3, 'it is caught up')
})
