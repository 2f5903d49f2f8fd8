import t from 'tap'
import { withTimeout } from '../../lib/common/timeout.js'

const late = (): Error => new Error('too late')

t.test('work that ends in time resolves or rejects as it is, and leaves no timer', async (t) => {
  t.equal(await withTimeout(Promise.resolve(1), 60_000, late), 1)
  await t.rejects(withTimeout(Promise.reject(new Error('no')), 60_000, late), { message: 'no' })
  t.notOk(process.getActiveResourcesInfo().includes('Timeout'))
})

t.test('late work rejects with the error of the time-out, also if it fails later', async (t) => {
  let fail: (error: Error) => void = () => undefined
  const work = new Promise((_, reject) => {
    fail = reject
  })
  await t.rejects(withTimeout(work, 1, late), { message: 'too late' })
  fail(new Error('after the time-out'))
})
