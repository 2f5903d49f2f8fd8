import t from 'tap'
import { isMark, parseMark } from '../../lib/marks/parse.js'
import { thrownBy } from '../helpers/errors.js'

const none = { scope: null, role: null }

t.test('short marks', async (t) => {
  for (const mode of [true, false, 'optional', 'try'] as const) {
    t.strictSame(parseMark(mode, 'x'), { mode, use: null, scope: null, role: null }, String(mode))
  }
})

t.test('long marks', async (t) => {
  t.strictSame(parseMark({ mode: 'try' }, 'x'), { mode: 'try', use: null, ...none })
  t.strictSame(parseMark({ mode: false }, 'x'), { mode: false, use: null, ...none })
  t.strictSame(parseMark({ use: 'jwt' }, 'x'), { mode: true, use: ['jwt'], ...none })
  t.strictSame(parseMark({ mode: undefined, use: ['jwt'] }, 'x'), {
    mode: true,
    use: ['jwt'],
    ...none,
  })
  t.strictSame(parseMark({ mode: 'optional', use: ['a', 'b'] }, 'x'), {
    mode: 'optional',
    use: ['a', 'b'],
    ...none,
  })
  t.strictSame(parseMark(Object.freeze({ use: Object.freeze(['a']) }), 'x').use, ['a'])
})

t.test('scopes and roles, beside whatever says that there is a user', async (t) => {
  const scope = { all: ['a'] }
  t.strictSame(parseMark({ scope: 'a' }, 'x'), { mode: true, use: null, scope, role: null })
  t.strictSame(parseMark({ mode: true, use: 'jwt', scope: 'a', role: { any: ['b', 'c'] } }, 'x'), {
    mode: true,
    use: ['jwt'],
    scope,
    role: { any: ['b', 'c'] },
  })
  for (const mode of [false, 'optional', 'try'] as const) {
    for (const key of ['scope', 'role'] as const) {
      const { code, message } = thrownBy(() => parseMark({ mode, [key]: 'a' }, 'route GET /x'))
      t.equal(code, 'ERR_AUTH_MARK')
      t.match(message, `found mode ${JSON.stringify(mode)} beside ${key}, expected mode true`)
    }
  }
  class Mark {
    use = 'jwt'
    get scope() {
      return 'a'
    }
  }
  t.throws(() => parseMark(new Mark(), 'x'), { message: /one that is inherited for scope/ })
})

t.test('everything else is refused, and the place is named', async (t) => {
  const short = "true, false, 'optional', 'try' or { mode, use, scope, role }"
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
    [{}, 'an empty object', '{ mode, use, scope, role }'],
    [new Map([['mode', true]]), 'an empty object', '{ mode, use, scope, role }'],
    [{ mode: true, uses: 'jwt' }, 'the unknown key "uses"', '{ mode, use, scope, role }'],
    [{ Mode: 'try' }, 'the unknown key "Mode"', '{ mode, use, scope, role }'],
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
