import t from 'tap'
import { EXTRA_JWT_CLAIMS } from '../../lib/index.js'
import { extraOf, setClaims } from '../../lib/request/state.js'
import { requestWith } from '../helpers/fakes.js'

t.test('request.extra holds the claims that were set last, read before or after', async (t) => {
  const first = { sub: 'alice' }
  const second = { sub: 'bob' }
  const request = requestWith({})
  setClaims(request, first)
  const extra = extraOf(request)
  t.equal(extra[EXTRA_JWT_CLAIMS], first)
  setClaims(request, second)
  t.equal(extra[EXTRA_JWT_CLAIMS], second)
  t.equal(extraOf(request), extra)

  const other = requestWith({})
  setClaims(other, first)
  setClaims(other, second)
  t.equal(extraOf(other)[EXTRA_JWT_CLAIMS], second, 'the last ones count')
})
