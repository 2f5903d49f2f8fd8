import t from 'tap'
import { withoutUndefined, isThenable } from '../../lib/common/objects.js'

t.test('withoutUndefined() leaves out undefined, and keeps other falsy values', async (t) => {
  const options = { cost: undefined, max: 0, name: '', on: false, nothing: null, list: [] }
  const result = withoutUndefined(options)
  t.strictSame(Object.entries(result), [
    ['max', 0],
    ['name', ''],
    ['on', false],
    ['nothing', null],
    ['list', []],
  ])
  t.notOk('cost' in result)
  t.ok('cost' in options, 'the original stays as it is')
})

t.test('withoutUndefined() leaves out inherited members', async (t) => {
  t.strictSame(withoutUndefined(Object.create({ cost: 4 }) as object), {})
  t.strictSame(withoutUndefined({}), {})
})

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
