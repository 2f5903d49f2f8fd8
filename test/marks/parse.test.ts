import t from 'tap'
import { isMark, parseMark } from '../../lib/marks/mark.js'
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

t.test('isMark', async (t) => {
  for (const mark of [true, false, 'optional', 'try', { mode: false }, { use: 'jwt' }] as const) {
    t.ok(isMark(mark))
  }
  for (const other of [undefined, null, 'true', 1, {}, [], { user: 'a', pass: 'b' }]) {
    t.notOk(isMark(other))
  }
})
