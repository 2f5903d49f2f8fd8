import t from 'tap'
import { isCanonical, MALFORMED, parseBasic } from '../../lib/http/authorization.js'
import { same } from '../helpers/flows.js'

t.test('Basic credentials are split at the first colon (RFC 7617 §2)', async (t) => {
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
    const header = `Basic ${Buffer.from(text).toString('base64')}`
    t.same(parseBasic(header), { username, password }, JSON.stringify(text))
  }
  t.same(parseBasic('basic   QWxhZGRpbjpvcGVuIHNlc2FtZQ=='), {
    username: 'Aladdin',
    password: 'open sesame',
  })
})

t.test('isCanonical() accepts exactly the output of a base64 encoder', async (t) => {
  for (const encoding of ['base64', 'base64url'] as const) {
    const letters = encoding === 'base64' ? '+/' : '-_'
    const alphabet = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789${letters}`
    for (const start of ['', 'A', 'AA', 'AAA', 'AAAA', 'AAAAA']) {
      for (const letter of alphabet) {
        const text = start + letter
        const written = Buffer.from(text, encoding).toString(encoding).replaceAll('=', '')
        const wanted = [text, written === text, written === text]
        same(t, [text, isCanonical(text), isCanonical(`${text}==`, text.length)], wanted, text)
      }
    }
  }
  t.equal(isCanonical(''), true)
})

t.test('malformed Basic credentials are none, and are not read beyond 16 KiB', async (t) => {
  const encoded = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('base64')
  const long = (length: number): string => encoded('a:'.padEnd((length / 4) * 3, 'x'))
  const malformed = ['', 'YTpi=', 'YTp', 'YTpi YTpi', 'YTpi\u00e9', 'YTp=', encoded('no colon')]
  for (const part of [...malformed, encoded('a:\u0000'), encoded('a:\u00ff'), long(16_388)])
    t.equal(parseBasic(`Basic ${part}`), MALFORMED, part.slice(0, 20))
  t.match(parseBasic(`Basic ${long(16_384)}`), { username: 'a' })
  for (const other of [undefined, 'Bearer YTpi']) t.equal(parseBasic(other), null)
})
