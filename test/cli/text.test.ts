import { execFileSync } from 'node:child_process'
import t from 'tap'
import {
  columns,
  count,
  didYouMean,
  nearest,
  printable,
  shellWord,
  word,
} from '../../lib/cli/text.js'

t.test('nothing that a terminal acts on is left', async (t) => {
  const hostile =
    '\u001b[2J\u0007\r\t\u009b31m\u202e\u2066\u200b\u00ad\ufeff\u2028\u{e0001}\ud800x\n'
  const shown = printable(hostile)
  t.match(shown, /^[ -~\ufffd]+\n$/u)
  t.equal(
    shown,
    String.raw`\u001b[2J\u0007\u000d\u0009\u009b31m\u202e\u2066\u200b\u00ad\ufeff\u2028\udb40\udc01` +
      '\ufffdx\n',
  )
  t.equal(printable('Grüße, 東京, 😀\n'), 'Grüße, 東京, 😀\n')
  const value = { text: 'a\u009b\u{e0001}\u2028b' }
  t.strictSame(JSON.parse(printable(JSON.stringify(value, null, 2))), value, 'JSON stays the same')
})

t.test('words for env files', async (t) => {
  t.equal(word('keys/es256.pem'), 'keys/es256.pem')
  t.equal(word('my keys'), `'my keys'`)
  t.equal(word(`it's`), `"it's"`)
  t.equal(word(`it's "it"`), '`it\'s "it"`')
  t.equal(word('\'"`'), '\'"`', 'there is no quote left')
})

t.test('words for shells: nothing in them is run', async (t) => {
  t.equal(shellWord('keys/es256.pem'), 'keys/es256.pem')
  const names = ['my keys', `it's $(exit 1)`, `it's "it" \`exit 1\``, 'a\\b', '$HOME', `''`, '']
  for (const name of names) {
    if (process.platform === 'win32') continue
    t.equal(execFileSync('sh', ['-c', `printf %s ${shellWord(name)}`], { encoding: 'utf8' }), name)
  }
})

t.test('columns and counts', async (t) => {
  t.strictSame(
    columns([
      ['a', 'b'],
      ['long', ''],
    ]),
    ['  a     b', '  long'],
  )
  t.strictSame([count(1, 'error'), count(0, 'error')], ['1 error', '0 errors'])
})

t.test('what was perhaps meant', async (t) => {
  const known = ['secret', 'keys', 'AUTH_JWT_SECRET', 'AUTH_JWT_EXPIRY']
  t.equal(nearest('secert', known), 'secret')
  t.equal(nearest('key', known), 'keys')
  t.equal(nearest('auth_jwt_secret', known), 'AUTH_JWT_SECRET')
  t.equal(nearest('AUTH_JWT_EXPIRES', known), 'AUTH_JWT_EXPIRY')
  t.equal(nearest('xyz', known), undefined)
  t.equal(nearest('', known), undefined)
  t.equal(nearest(`secret${'t'.repeat(100_000)}`, known), undefined)
  t.equal(didYouMean('secre', known), ' Did you mean secret?')
  t.equal(didYouMean('q', known), '')
})
