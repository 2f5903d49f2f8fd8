import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  revocationPoller,
  type RevocationPage,
} from '../../../lib/sessions/stores/revocation-poller.js'
import { settle, shortFiveSeconds, until } from '../../helpers/load.js'

interface Poll {
  readonly cursor: string | null
  readonly answer: (page: RevocationPage) => void
  readonly fail: (error: Error) => void
}

/** A watched store that answers when the test says so. */
function heldStore(t: Test) {
  const polls: Poll[] = []
  const told: unknown[] = []
  const poller = revocationPoller(
    (cursor) => new Promise((answer, fail) => void polls.push({ cursor, answer, fail })),
  )
  t.teardown(() => {
    poller.stop()
    for (const { answer } of polls) answer(page('the end'))
  })
  poller.hint()
  poller.start({
    revoked: (revocations, now) => void told.push([revocations, now]),
    caughtUp: () => void told.push('caughtUp'),
    lost: (error) => void told.push(error),
  })
  const asked = async (count: number): Promise<Poll> => {
    await until(() => polls.length === count, `poll ${count} is made`)
    return polls[count - 1] as Poll
  }
  return { poller, told, asked, polls }
}
const revocation = { sid: 's', until: 2 }
const page = (cursor: string, revocations = [revocation]) => ({
  revocations,
  now: 1,
  cursor,
})

t.test('a poll continues from the last cursor, and reads all again after a failure', async (t) => {
  const { told, asked } = heldStore(t)
  const first = await asked(1)
  t.equal(first.cursor, null)
  first.answer(page('a'))
  const second = await asked(2)
  t.strictSame(told.splice(0), [[[revocation], 1], 'caughtUp'], 'revocations first')
  t.equal(second.cursor, 'a')
  second.answer(page('b', []))
  const third = await asked(3)
  t.strictSame([third.cursor, told.splice(0)], ['b', []], 'no news')
  const away = new Error('away')
  third.fail(away)
  const fourth = await asked(4)
  t.strictSame([fourth.cursor, told.splice(0)], [null, [away]])
  fourth.fail(new Error('still away'))
  const fifth = await asked(5)
  t.strictSame([fifth.cursor, told.splice(0)], [null, []], 'one failure is reported')
  fifth.answer(page('c'))
  await asked(6)
  t.strictSame(told, [[[revocation], 1], 'caughtUp'])
})

t.test('many hints during a poll cause one poll right after it', async (t) => {
  const waits: number[] = []
  const { setTimeout } = globalThis
  t.intercept(globalThis, 'setTimeout', {
    value: (...given: [() => void, number]) => (waits.push(given[1]), setTimeout(...given)),
  })
  const { poller, asked, polls } = heldStore(t)
  const first = await asked(1)
  waits.length = 0
  // The answer of a poll that is on its way may not have the revocation in it yet.
  for (let count = 0; count < 100; count++) poller.hint()
  t.equal(polls.length, 1, 'one poll at a time')
  first.answer(page('a'))
  const second = await asked(2)
  t.notOk(waits.includes(500), 'one that comes meanwhile polls again at once')
  second.answer(page('b'))
  await settle()
  waits.length = 0
  poller.hint()
  poller.hint()
  const third = await asked(3)
  t.ok(waits.some((wait) => wait < 500) && !waits.includes(500), 'and one in between too')
  third.answer(page('c'))
})

t.test('a stopped poller polls no more, and ignores a late answer', async (t) => {
  const { poller, told, asked, polls } = heldStore(t)
  const first = await asked(1)
  poller.stop()
  poller.hint()
  first.answer(page('a'))
  await settle()
  t.strictSame([told, polls.length], [[], 1])
})

t.test('a poll fails after five seconds, and the next one reads all again', async (t) => {
  const limits = shortFiveSeconds(t)
  const { poller, told, asked, polls } = heldStore(t)
  const first = await asked(1)
  poller.hint()
  await later(50)
  t.equal(polls.length, 1, 'not before')
  const second = await asked(2)
  t.ok(limits.includes(5000))
  t.match(told.splice(0), [/no answer in 5000 ms/])
  t.equal(second.cursor, null, 'it reads all again')
  second.answer(page('b', []))
  const third = await asked(3)
  first.answer(page('a'))
  await settle()
  t.strictSame([third.cursor, told.splice(0)], ['b', ['caughtUp']], 'what comes late is ignored')
})
