import t from 'tap'
import { isThenable } from '../../lib/common/objects.js'

t.test('objects and functions with a then are thenable', async (t) => {
  // oxlint-disable-next-line unicorn/no-thenable -- what it is about
  const thenable = { then: () => undefined }
  t.equal(isThenable(Promise.resolve()), true)
  t.equal(isThenable(thenable), true, 'also of another library')
  // oxlint-disable-next-line unicorn/no-thenable -- what it is about
  for (const value of [undefined, null, 0, '', 'then', true, {}, [], { then: 1 }, () => 0]) {
    t.equal(isThenable(value), false)
  }
})
