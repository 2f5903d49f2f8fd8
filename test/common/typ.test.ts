import t from 'tap'
import { comparable, typOf } from '../../lib/common/typ.js'

t.test('typ is compared without case and application/ (RFC 7515 §4.1.9)', async (t) => {
  const cases: Record<string, string[]> = {
    jwt: ['JWT', 'jwt', 'Jwt', 'application/jwt', 'APPLICATION/JWT', 'Application/Jwt'],
    'at+jwt': ['at+jwt', 'AT+JWT', 'application/at+jwt'],
    // Where another slash follows, nothing may be left out.
    'application/x;part="1/2"': ['application/x;part="1/2"', 'Application/X;Part="1/2"'],
    'application/application/jwt': ['application/application/jwt'],
    'text/jwt': ['text/jwt'],
    ' jwt': [' JWT'],
    '': ['', 'application/'],
    // ASCII only: the Kelvin sign is no k.
    '\u212aey+jwt': ['\u212aEY+JWT'],
  }
  for (const [expected, spellings] of Object.entries(cases)) {
    for (const spelling of spellings) t.equal(comparable(spelling), expected, spelling)
  }
})

t.test('a typ that is no string is told from none', async (t) => {
  const headers = [{}, { typ: 'JWT' }, { typ: 1 }, { typ: null }, Object.create({ typ: 'x' })]
  t.strictSame(headers.map(typOf), [undefined, 'jwt', null, null, undefined])
})
