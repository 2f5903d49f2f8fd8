import t from 'tap'
import { listOf } from '../../lib/common/list-of.js'
import { declaredProperty, isPlain, ownProperty, toJson } from '../../lib/common/objects.js'
import { swap } from '../../lib/common/swap.js'

class Options {
  readonly own = 1
  get ofClass() {
    return 2
  }
}

t.test('properties of a class count as declared, and none of Object.prototype', async (t) => {
  const options = new Options()
  const names = ['own', 'ofClass', 'constructor', 'toString', 'none']
  t.strictSame(
    names.map((name) => declaredProperty(options, name)),
    [1, 2, Options, undefined, undefined],
  )
  t.strictSame(
    names.map((name) => ownProperty(options, name)),
    [1, undefined, undefined, undefined, undefined],
  )
  for (const plain of [{}, { a: 1 }, Object.create(null)]) t.equal(isPlain(plain), true)
  for (const other of [null, [], options, 'a', () => 1]) t.equal(isPlain(other), false)
})

t.test('only plain objects become JSON, and a promise that rejects ends no process', async (t) => {
  t.equal(toJson({ a: [1] }, 'claims'), '{"a":[1]}')
  for (const other of [Promise.reject(new Error('late')), [], null, new Options()])
    t.throws(() => toJson(other, 'claims'), { name: 'TypeError', message: /^claims: / })
})

t.test('a message lists twenty names', async (t) => {
  const names = Array.from({ length: 21 }, (_, index) => `n${index}`)
  t.equal(listOf(names.slice(0, 20)), names.slice(0, 20).join(', '))
  t.match(listOf(names), /, n19, and 1 more$/)
})

t.test('a change is tried five times', async (t) => {
  let tries = 0
  const atLast = (most: number) => swap(async () => ((tries += 1) === most ? 'done' : null), 'save')
  t.equal(await atLast(5), 'done')
  tries = 0
  await t.rejects(atLast(6), { statusCode: 503, cause: /^save\(\) returned 5 times/ })
})
