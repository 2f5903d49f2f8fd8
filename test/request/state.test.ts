import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { MALFORMED } from '../../lib/http/authorization.js'
import { cookieOf, localClaimsOf, setClaims, setUser } from '../../lib/request/state.js'

t.test(
  'a cookie that is missing or empty is null, and one that came twice is malformed',
  async (t) => {
    const request = { headers: { cookie: 'a=1; empty=; b=2; b=2' } } as unknown as FastifyRequest
    const found = ['a', 'empty', 'none', 'b'].map((name) => cookieOf(request, name))
    t.strictSame(found, ['1', null, null, MALFORMED])
  },
)

t.test('claims are local only with a user, and by a key of our own', async (t) => {
  const request = { headers: {} } as unknown as FastifyRequest
  const claims = { sub: 'alice', exp: 1 }
  t.equal(localClaimsOf(request), null)
  setClaims(request, claims, true)
  t.equal(localClaimsOf(request), null, 'no user')
  setUser(request, {}, {}, 'jwt')
  t.equal(localClaimsOf(request), claims)
  setClaims(request, claims)
  t.equal(localClaimsOf(request), null, 'of an issuer')
})
