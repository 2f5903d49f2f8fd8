import t from 'tap'
import { within } from '../../lib/common/timeout.js'

const late = (): Error => new Error('too late')

t.test('work in time: what it comes to', async (t) => {
  t.equal(await within(60_000, Promise.resolve(1), late), 1)
  await t.rejects(within(60_000, Promise.reject(new Error('no')), late), { message: 'no' })
})

t.test('work that is late, and then fails', async (t) => {
  let fail: (error: Error) => void = () => undefined
  const work = new Promise((_, reject) => {
    fail = reject
  })
  await t.rejects(within(1, work, late), { message: 'too late' })
  fail(new Error('nobody is told'))
})
