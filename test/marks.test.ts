import t from 'tap'
import { isMark, parseMark } from '../lib/marks.js'
import { thrownBy } from './helpers/errors.js'

t.test('short marks', async (t) => {
  for (const mode of [true, false, 'optional', 'try'] as const) {
    t.strictSame(parseMark(mode, 'x'), { mode, use: null }, String(mode))
  }
})

t.test('long marks', async (t) => {
  t.strictSame(parseMark({ mode: 'try' }, 'x'), { mode: 'try', use: null })
  t.strictSame(parseMark({ mode: false }, 'x'), { mode: false, use: null })
  t.strictSame(parseMark({ use: 'jwt' }, 'x'), { mode: true, use: ['jwt'] })
  t.strictSame(parseMark({ mode: undefined, use: ['jwt'] }, 'x'), { mode: true, use: ['jwt'] })
  t.strictSame(parseMark({ mode: 'optional', use: ['a', 'b'] }, 'x'), {
    mode: 'optional',
    use: ['a', 'b'],
  })
  t.strictSame(parseMark(Object.freeze({ use: Object.freeze(['a']) }), 'x').use, ['a'])
})

t.test('everything else is refused, and the place is named', async (t) => {
  const short = "true, false, 'optional', 'try' or { mode, use }"
  const mode = "mode true, false, 'optional' or 'try'"
  const use = 'use to be a name or a non-empty array of names'
  const wrong: [unknown, string, string][] = [
    ['true', '"true"', short],
    ['Optional', '"Optional"', short],
    ['', '""', short],
    [1, 'number', short],
    [0, 'number', short],
    [null, 'null', short],
    [undefined, 'undefined', short],
    [() => true, 'function', short],
    [[], 'an object that does not fit', short],
    [[true], 'an object that does not fit', short],
    [{}, 'an empty object', '{ mode, use }'],
    [new Map([['mode', true]]), 'an empty object', '{ mode, use }'],
    [{ mode: true, uses: 'jwt' }, 'the unknown key "uses"', '{ mode, use }'],
    [{ Mode: 'try' }, 'the unknown key "Mode"', '{ mode, use }'],
    [{ mode: 'true' }, 'mode "true"', mode],
    [{ mode: null }, 'mode null', mode],
    [{ mode: 1 }, 'mode number', mode],
    [{ mode: {} }, 'mode an object that does not fit', mode],
    [{ use: '' }, 'use ""', use],
    [{ use: [] }, 'use an object that does not fit', use],
    [{ use: ['jwt', ''] }, 'use an object that does not fit', use],
    [{ use: ['jwt', 1] }, 'use an object that does not fit', use],
    [{ use: [['jwt']] }, 'use an object that does not fit', use],
    [{ use: 1 }, 'use number', use],
    [{ use: true }, 'use boolean', use],
    [{ use: { name: 'jwt' } }, 'use an object that does not fit', use],
  ]
  for (const [mark, found, expected] of wrong) {
    const { code, message } = thrownBy(() => parseMark(mark, 'route GET /x, config.auth'))
    t.equal(code, 'ERR_AUTH_MARK', found)
    t.equal(
      message,
      `fastify-authn: route GET /x, config.auth: found ${found}, expected ${expected}.`,
    )
  }
})

t.test('isMark', async (t) => {
  for (const mark of [true, false, 'optional', 'try', { mode: false }, { use: 'jwt' }] as const) {
    t.ok(isMark(mark))
  }
  for (const other of [undefined, null, 'true', 1, {}, [], { user: 'a', pass: 'b' }]) {
    t.notOk(isMark(other))
  }
})
