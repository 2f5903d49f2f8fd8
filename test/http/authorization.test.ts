import t from 'tap'
import { credentialsOf, MALFORMED, parseBasic } from '../../lib/http/authorization.js'

const basicOf = (bytes: string | Buffer): string =>
  `Basic ${Buffer.from(bytes as string).toString('base64')}`

t.test('credentialsOf: what follows the scheme (RFC 9110 §11.6.2)', async (t) => {
  const cases: [string | undefined, string | typeof MALFORMED | null][] = [
    [undefined, null],
    ['', null],
    [' Basic abc', null],
    ['Basi', null],
    ['Basi abc', null],
    ['Bearer abc', null],
    ['Basically abc', null],
    ['Basic-2 abc', null],
    ["Basic' abc", null],
    ['Basic|abc', null],
    ['Basic', ''],
    ['Basic ', ''],
    ['Basic    ', ''],
    ['Basic abc', 'abc'],
    ['bAsIc abc', 'abc'],
    ['Basic   abc', 'abc'],
    ['Basic abc ', 'abc '],
    ['Basic a b', 'a b'],
    ['Basic\tabc', MALFORMED],
    ['Basic,abc', MALFORMED],
    ['Basic:abc', MALFORMED],
    ['Basic="abc"', MALFORMED],
    ['Basic/abc', MALFORMED],
    ['Basic\u00a0abc', MALFORMED],
    ['Basic \tabc', '\tabc'],
  ]
  for (const [header, expected] of cases) {
    t.equal(credentialsOf(header, 'basic'), expected, JSON.stringify(header))
  }
})

t.test('a scheme that begins like another one', async (t) => {
  t.equal(credentialsOf('Token2 abc', 'token'), null)
  t.equal(credentialsOf('Token2 abc', 'token2'), 'abc')
  t.equal(credentialsOf('Token abc', 'token2'), null)
  // Upper-case ſ and K (Kelvin) have these letters as their lower case.
  t.equal(credentialsOf('Ba\u017fic abc', 'basic'), null)
  t.equal(credentialsOf('to\u212aen abc', 'tooen'), null)
})

t.test('Basic: the first colon splits (RFC 7617 §2)', async (t) => {
  const cases: [string, string, string][] = [
    ['alice:secret', 'alice', 'secret'],
    ['alice:a:b:c', 'alice', 'a:b:c'],
    ['alice:', 'alice', ''],
    [':secret', '', 'secret'],
    [':', '', ''],
    ['::', '', ':'],
    ['a b: c d ', 'a b', ' c d '],
    ['test:123£', 'test', '123£'],
    ['Ünal:пароль😀', 'Ünal', 'пароль😀'],
    ['\ufeffalice:x', '\ufeffalice', 'x'],
    ['a\u0080:b\u009f', 'a\u0080', 'b\u009f'],
  ]
  for (const [text, username, password] of cases) {
    t.same(parseBasic(basicOf(text)), { username, password }, JSON.stringify(text))
  }
  t.same(parseBasic('basic   QWxhZGRpbjpvcGVuIHNlc2FtZQ=='), {
    username: 'Aladdin',
    password: 'open sesame',
  })
})
