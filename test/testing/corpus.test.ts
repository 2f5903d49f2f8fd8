// Also holds lib/testing/corpus/cases.ts, lib/testing/corpus/headers.ts, lib/testing/corpus/keys.ts,
// lib/testing/corpus/tokens.ts, lib/testing/corpus/cookies.ts and lib/testing/corpus/wire.ts.
import t from 'tap'
import { parseBasic } from '../../lib/http/authorization.js'
import { badTokens, headerCases, keyCases } from '../../lib/testing/corpus/cases.js'
import { malformedBasic, wrongPairs } from '../../lib/testing/corpus/headers.js'
import { confused, otherAlgorithms } from '../../lib/testing/corpus/keys.js'
import { signatures } from '../../lib/testing/corpus/tokens.js'
import { AttackReport } from '../../lib/testing/report.js'
import { materialFor } from '../../lib/testing/target.js'

t.test('near misses of Basic are never the pair itself, whatever its padding', async (t) => {
  for (const password of ['wonderland', 'wonderlan', 'wonderla', '', '1234', ':', 'x']) {
    const pair = { username: 'alice', password }
    const encoded = Buffer.from(`alice:${password}`).toString('base64')
    const near = malformedBasic(pair).map((header) => header.replace(/^basic +/i, ''))
    const wrong = wrongPairs(pair).map((parts) => parts.join(':'))
    const cases = headerCases(`Basic ${encoded}`, {}, 'alice')
    const sent = cases.map(({ request }) => parseBasic(String(request.headers?.authorization)))
    t.ok(near.length > 200 && wrong.length > 30 && cases.length > 200)
    t.notOk(near.includes(encoded), password)
    t.notOk(wrong.includes(`alice:${password}`), password)
    t.strictSame(
      sent.filter((each) => each !== null && JSON.stringify(each) === JSON.stringify(pair)),
      [],
      password,
    )
  }
})

t.test('keys of another kind: never the good one', async (t) => {
  for (const value of ['k3x', 'k3y', 'x']) {
    const cases = keyCases({ 'x-api-key': value, authorization: 'Bearer x' })
    const sent = cases.map(({ request }) => request.headers?.['x-api-key'])
    t.equal(sent.length, 24)
    t.notOk(sent.includes(value))
  }
})

t.test('without keys, only what can be made', async (t) => {
  const material = { claims: { sub: 'alice' }, method: 'HS256', claimName: 'sub' } as const
  t.strictSame(confused(material), [])
  t.strictSame(otherAlgorithms(material), [])
  const { tokens, leftOut } = badTokens(material, 'http://127.0.0.1:9/')
  t.ok(tokens.length > 200)
  t.ok(leftOut.includes('signatures (no good token is known)'))
  t.equal(signatures({ token: `a.b.${Buffer.alloc(48, 7).toString('base64url')}` }).length, 36)
})

t.test('a good token of which nothing can be read', async (t) => {
  for (const good of ['Bearer a.b.c', 'Bearer bnVsbA.e30.c', 'Bearer e30.bnVsbA.c']) {
    const { method, claimName } = materialFor({} as never, { url: '/', good })
    t.strictSame({ method, claimName }, { method: 'HS256', claimName: 'sub' })
  }
})

t.test('a report without a status', async (t) => {
  const report = new AttackReport('GET /')
  report.problems.push({ case: 'a', status: null, why: 'no answer' })
  t.equal(String(report), 'authAttacks GET /: 0 cases, 1 problems\n  ---  a: no answer')
})
