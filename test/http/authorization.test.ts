import t from 'tap'
import { isCanonical, parseBasic } from '../../lib/http/authorization.js'
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
