import t from 'tap'
import { wrongScheme } from '../../lib/http/scheme.js'

const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl'

t.test('what came in place of the scheme that was expected', async (t) => {
  const cases: [string | undefined, string | null][] = [
    [undefined, null],
    ['Bearer abc', null],
    ['bearer   abc', null],
    ['Basic YWxpY2U6eA==', 'the scheme Basic'],
    ['bAsIc YWxpY2U6eA==', 'the scheme Basic'],
    ['dpop abc', 'the scheme DPoP'],
    ['Bearer', 'the scheme Bearer without credentials'],
    ['bearer  ', 'the scheme Bearer without credentials'],
    ['Basic', 'the scheme Basic without credentials'],
    // Nothing of these may be said: each may be a secret, or a part of one.
    ['', 'no scheme'],
    [token, 'no scheme'],
    ['hunter2', 'no scheme'],
    ['hunter2 ', 'no scheme'],
    [`"Bearer ${token}"`, 'no scheme'],
    [`Bearer:${token}`, 'no scheme'],
    [`Bearer: ${token}`, 'no scheme'],
    [`Bearer\t${token}`, 'no scheme'],
    [`${token} `, 'no scheme'],
    [`${'x'.repeat(33)} y`, 'no scheme'],
    ['correct horse battery staple', 'another scheme'],
    [`${token.slice(0, 20)} y`, 'another scheme'],
    ['__proto__ y', 'another scheme'],
    ['Ba\u017fic y', 'no scheme'],
  ]
  for (const [header, found] of cases) {
    const text = found === null ? null : `Authorization: found ${found}, expected Bearer`
    t.equal(wrongScheme(header, ['Bearer']), text, JSON.stringify(header))
  }
})

t.test('several schemes, one of the app, and none', async (t) => {
  t.equal(
    wrongScheme('Digest x', ['Bearer', 'Basic']),
    'Authorization: found the scheme Digest, expected Bearer or Basic',
  )
  t.equal(wrongScheme('basic x', ['Bearer', 'Basic']), null)
  t.equal(wrongScheme('KEY x', ['Key']), null)
  t.equal(
    wrongScheme('key', ['Key']),
    'Authorization: found the scheme Key without credentials, expected Key',
  )
  t.equal(wrongScheme('Digest x', []), null, 'an authenticator that reads another header')
})
