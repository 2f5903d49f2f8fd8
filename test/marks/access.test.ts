import * as fc from 'fast-check'
import t from 'tap'
import { meets, parseNeed } from '../../lib/marks/access.js'

const parse = (need: unknown, key: 'scope' | 'role' = 'scope'): unknown =>
  parseNeed({ [key]: need }, key, 'route GET /, config.auth')

t.test('the three forms', async (t) => {
  t.strictSame(parse('notes:write'), { all: ['notes:write'] })
  t.strictSame(parse({ all: ['a', 'b'] }), { all: ['a', 'b'] })
  t.strictSame(parse({ any: ['a', 'b'] }), { any: ['a', 'b'] })
  t.strictSame(parse('chief editor', 'role'), { all: ['chief editor'] })
  t.equal(parseNeed({ use: 'jwt' }, 'scope', ''), null)
})

t.test('what is refused, with the place, what was found, and what is expected', async (t) => {
  const wrong: [unknown, RegExp][] = [
    [undefined, /found undefined \(is a variable not set\?\) for scope/],
    [null, /found null/],
    [true, /found boolean/],
    [1, /found number/],
    ['', /found the name ""/],
    [' ', /found the name " "/],
    ['a b', /found the name "a b"/],
    ['a"b', /found the name/],
    ['a\\b', /found the name/],
    ['é', /found the name/],
    [['a'], /found an array/],
    [[], /found an array/],
    [{}, /found an empty object/],
    [{ all: [] }, /found an empty list for all/],
    [{ any: [] }, /found an empty list for any/],
    [{ all: 'a' }, /found all without an array/],
    [{ any: new Set(['a']) }, /found any without an array/],
    [{ all: ['a'], any: ['b'] }, /found an object with all and any/],
    [{ every: ['a'] }, /found an object with every/],
    [{ all: ['a'], some: 1 }, /found an object with all and some/],
    [{ all: ['a', undefined] }, /found a name that is undefined/],
    [{ any: [null] }, /found a name that is null/],
    // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tried
    [{ all: [, 'a'] }, /found a name that is undefined/],
    [{ all: [['a']] }, /found a name that is object/],
    [Object.create({ all: ['a'] }), /found an empty object/],
  ]
  for (const [need, message] of wrong) {
    const expected = { code: 'ERR_AUTH_MARK', message }
    t.throws(() => parse(need), expected, message.source)
    t.throws(() => parse(need), { message: /route GET \/, config\.auth: .*expected one name/ })
  }
  for (const need of ['', ' ', '\t', 'a\nb', 'a\u0000']) {
    t.throws(() => parse(need, 'role'), { code: 'ERR_AUTH_MARK' }, JSON.stringify(need))
  }
})

t.test('all and any', async (t) => {
  const has = new Set(['a', 'b'])
  t.ok(meets({ all: ['a', 'b'] }, has))
  t.notOk(meets({ all: ['a', 'c'] }, has))
  t.ok(meets({ any: ['c', 'b'] }, has))
  t.notOk(meets({ any: ['c', 'd'] }, has))
  t.notOk(meets({ all: ['a'] }, new Set()))
})

t.test('names match character by character: no prefix, no case, no pattern', async (t) => {
  for (const near of ['notes', 'notes:', 'notes:writ', 'notes:write2', 'Notes:write', 'notes:*']) {
    t.notOk(meets({ all: ['notes:write'] }, new Set([near])), near)
    t.notOk(meets({ any: ['notes:write'] }, new Set([near])), near)
  }
  for (const name of ['constructor', '__proto__', 'has', 'size']) {
    t.notOk(meets({ any: [name] }, new Set(['a'])), name)
  }
  const name = fc.stringMatching(/^[a-zA-Z:.*]{1,4}$/)
  fc.assert(
    fc.property(fc.array(name, { minLength: 1 }), fc.array(name), (needed, granted) => {
      const has = new Set(granted)
      const all = needed.every((each) => granted.includes(each))
      const any = needed.some((each) => granted.includes(each))
      return meets({ all: needed }, has) === all && meets({ any: needed }, has) === any
    }),
  )
})
