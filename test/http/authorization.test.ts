import { ok } from 'node:assert'
import { assert, constantFrom, property, string, tuple } from 'fast-check'
import t from 'tap'
import { credentialsOf, MALFORMED, parseBasic, parseBearer } from '../../lib/http/authorization.js'
import { anyCharacter } from '../helpers/cases.js'

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

t.test('Basic: of the spellings of one pair, only the canonical one (RFC 4648 §3.5)', async (t) => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  for (const [text, padding] of [
    ['a:bb', '=='],
    ['a:b', ''],
    ['a:', '='],
  ] as const) {
    const encoded = Buffer.from(text).toString('base64')
    const stem = encoded.slice(0, encoded.length - padding.length - 1)
    const accepted = alphabet.split('').filter((last) => {
      const pair = parseBasic(`Basic ${stem}${last}${padding}`)
      return pair !== null && pair !== MALFORMED && `${pair.username}:${pair.password}` === text
    })
    t.same(accepted, [encoded.at(-1 - padding.length)], encoded)
  }
})

t.test('Basic: whatever may be in a name and a password comes back', async (t) => {
  // oxlint-disable-next-line no-control-regex -- control characters are what it takes out
  const controls = /[\u0000-\u001f\u007f]/g
  const password = string({ unit: anyCharacter }).map((text) => text.replace(controls, ''))
  const username = password.map((text) => text.replaceAll(':', ''))
  assert(
    property(username, password, (username, password) => {
      t.same(parseBasic(basicOf(`${username}:${password}`)), { username, password })
    }),
    { numRuns: 200 },
  )
})

t.test('whatever the header is, there is an answer, and nothing is thrown', async () => {
  const start = constantFrom('Basic', 'Bearer', 'basic ', 'bearer ', 'Basic\t', '')
  const strange = tuple(start, string({ unit: anyCharacter })).map((parts) => parts.join(''))
  assert(
    property(strange, (header) => {
      const token = parseBearer(header)
      const pair = parseBasic(header)
      ok(token === null || token === MALFORMED || /^[\w.~+/-]+=*$/.test(token))
      ok(pair === null || pair === MALFORMED || Buffer.isBuffer(Buffer.from(pair.username)))
      ok(token === null || pair === null, 'no header is of two schemes')
    }),
    { numRuns: 300 },
  )
})
