import t from 'tap'
import { challenge } from '../../lib/http/challenge.js'

t.test('a realm is a quoted-string', async (t) => {
  t.equal(challenge('Custom', 'a "b" \\c'), 'Custom realm="a \\"b\\" \\\\c"')
})

t.test('Basic says its charset (RFC 7617 §2.1)', async (t) => {
  t.equal(challenge('Basic', 'x'), 'Basic realm="x", charset="UTF-8"')
})

t.test('Bearer says what was wrong (RFC 6750 §3)', async (t) => {
  t.equal(challenge('Bearer', 'x'), 'Bearer realm="x"')
  t.equal(
    challenge('Bearer', 'x', { error: 'invalid_token', description: 'gone' }),
    'Bearer realm="x", error="invalid_token", error_description="gone"',
  )
})
