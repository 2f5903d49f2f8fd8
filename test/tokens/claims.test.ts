import t from 'tap'
import { checkClaims, claimsToSign } from '../../lib/tokens/claims.js'
import type { ResolvedRules } from '../../lib/options/resolve-jwt.js'
import { thrownBy } from '../helpers/errors.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** A moment in seconds, and one in milliseconds. */
const moment = 1_800_000_000
const at = moment * 1000

const plain: ResolvedRules = {
  clockTolerance: 0,
  requireExp: true,
  issuer: undefined,
  audience: undefined,
  typ: new Set([undefined, 'jwt']),
}

/** `ok`, or the code of the rejection. */
function verdict(claims: unknown, rules: Partial<ResolvedRules> = {}, now = at): unknown {
  const check = (): string => {
    checkClaims(claims as JwtClaims, { ...plain, ...rules }, now)
    return 'ok'
  }
  try {
    return check()
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

const invalid = 'ERR_AUTH_JWT_INVALID'
const expired = 'ERR_AUTH_JWT_EXPIRED'
const early = 'ERR_AUTH_JWT_NOT_VALID_YET'
const alive = { exp: moment + 60 }

t.test('a token expires in the very second of exp (RFC 7519 §4.1.4)', async (t) => {
  t.equal(verdict({ exp: moment }, {}, at - 1), 'ok', 'a millisecond before')
  t.equal(verdict({ exp: moment }, {}, at), expired, 'exactly now')
  t.equal(verdict({ exp: moment }, {}, at + 1), expired, 'a millisecond after')
  t.equal(verdict({ exp: moment + 0.5 }, {}, at + 499), 'ok', 'fractions count')
  t.equal(verdict({ exp: moment + 0.5 }, {}, at + 500), expired, 'fractions count')
  for (const exp of [0, -0, -1, -1e300, 5e-324]) t.equal(verdict({ exp }), expired, String(exp))
  t.equal(verdict({ exp: Number.MAX_VALUE }), 'ok', 'the largest number')
})

t.test('a token is valid from the very second of nbf (RFC 7519 §4.1.5)', async (t) => {
  t.equal(verdict({ ...alive, nbf: moment }, {}, at - 1), early, 'a millisecond before')
  t.equal(verdict({ ...alive, nbf: moment }, {}, at), 'ok', 'exactly now')
  t.equal(verdict({ ...alive, nbf: moment }, {}, at + 1), 'ok', 'a millisecond after')
  t.equal(verdict({ ...alive, nbf: moment + 0.5 }, {}, at + 499), early, 'fractions count')
  for (const nbf of [0, -1, -1e300]) t.equal(verdict({ ...alive, nbf }), 'ok', String(nbf))
  // Dates end at 8.64e15 ms: a library that prints this one throws a RangeError.
  for (const nbf of [1e13, 1e300]) t.equal(verdict({ ...alive, nbf }), early, String(nbf))
})

t.test('clockTolerance moves exp and nbf by exactly its seconds', async (t) => {
  const rules = { clockTolerance: 5 }
  t.equal(verdict({ exp: moment }, rules, at + 4999), 'ok')
  t.equal(verdict({ exp: moment }, rules, at + 5000), expired)
  t.equal(verdict({ ...alive, nbf: moment + 5 }, rules, at), 'ok')
  t.equal(verdict({ ...alive, nbf: moment + 5 }, rules, at - 1), early)
})

t.test('a token without exp is valid only with requireExp: false', async (t) => {
  t.equal(verdict({}), invalid, 'by default a token without exp is rejected')
  t.equal(verdict({}, { requireExp: false }), 'ok')
  t.equal(verdict({ exp: moment }, { requireExp: false }), expired, 'one that is there counts')
  t.equal(verdict({ nbf: moment + 1 }, { requireExp: false }), early, 'nbf counts')
})

t.test('iss must be exactly the expected issuer', async (t) => {
  const rules = { issuer: 'https://a.example' }
  t.equal(verdict({ ...alive, iss: 'https://a.example' }, rules), 'ok')
  const wrong = [undefined, null, '', 'https://A.example', 'https://a.example/', 1, true, {}]
  for (const iss of [...wrong, ['https://a.example']]) {
    t.equal(verdict({ ...alive, iss }, rules), invalid, JSON.stringify(iss))
  }
  t.equal(verdict({ ...alive, iss: 7 }), 'ok', 'not looked at without the rule')
})

t.test('aud must contain an expected audience, and strings only (RFC 7519 §4.1.3)', async (t) => {
  const rules = { audience: ['api', 'admin'] }
  for (const aud of ['api', 'admin', ['api'], ['x', 'admin'], ['admin', 'api']]) {
    t.equal(verdict({ ...alive, aud }, rules), 'ok', JSON.stringify(aud))
  }
  const wrong = ['', 'API', 'api ', 'apiadmin', 'x', 1, null, true, {}, [], [['api']], [null]]
  for (const aud of [...wrong, undefined, ['api', 1], ['api', null], ['api', {}], { 0: 'api' }]) {
    t.equal(verdict({ ...alive, aud }, rules), invalid, JSON.stringify(aud))
  }
  for (const aud of ['api', ['api'], { any: 1 }, [], '', null]) {
    t.equal(verdict({ ...alive, aud }), invalid, 'without the rule, any is for another recipient')
    t.equal(verdict({ ...alive, aud }, { audience: false }), 'ok', 'not looked at')
  }
  t.equal(verdict(alive), 'ok')
})

t.test('a token that is bound to a key (RFC 7800) is invalid as a bearer token', async (t) => {
  for (const cnf of [{ jkt: 'x' }, null, '']) {
    t.equal(verdict({ ...alive, cnf }), invalid)
    t.equal(verdict({ ...alive, cnf }, { audience: false }), invalid)
  }
})

t.test('a token with several flaws is invalid rather than expired', async (t) => {
  const rules = { issuer: 'a', audience: ['b'] }
  const late = { exp: moment - 1, nbf: moment + 1 }
  t.equal(verdict({ ...late, iss: 'a', aud: 'b' }, rules), expired, 'expired before not yet valid')
  t.equal(verdict({ ...late, iss: 'x', aud: 'b' }, rules), invalid)
  t.equal(verdict({ ...late, iss: 'a', aud: 'x' }, rules), invalid)
  t.equal(verdict({ ...late, exp: '1', iss: 'a', aud: 'b' }, rules), invalid)
  t.equal(verdict({ ...late, nbf: '1', iss: 'a', aud: 'b' }, rules), invalid)
})

t.test('a signed token gets nbf, exp, iss and aud unless its claims have them', async (t) => {
  t.intercept(Date, 'now', { value: () => at + 999 })
  const times = { nbf: moment, exp: moment + 60 }
  const of = (claims: object, rules: Partial<ResolvedRules> = {}): unknown =>
    claimsToSign(claims as Partial<JwtClaims>, { ...plain, ...rules, expiry: 60 })
  t.strictSame(of({}), times)
  t.strictSame(of({ sub: 'a', exp: undefined, nbf: undefined }), { sub: 'a', ...times })
  t.strictSame(of({ exp: 5, nbf: 4 }), { exp: 5, nbf: 4 })
  const since = { ...plain, expiry: 60, validAfterField: 'since' }
  t.strictSame(claimsToSign({}, since), { ...times, iat: moment }, 'what it is compared with')
  t.strictSame(claimsToSign({ iat: 7 }, since), { ...times, iat: 7 })
  const hostile = JSON.parse('{"__proto__":{"admin":true}}') as object
  t.strictSame(Object.keys(of(hostile) as object), ['__proto__', 'nbf', 'exp'])
  const rules = { issuer: 'i', audience: ['a'] }
  t.strictSame(of({}, rules), { iss: 'i', aud: 'a', ...times })
  t.strictSame(of({ iss: 'j' }, { ...rules, audience: ['a', 'b'] }), {
    iss: 'j',
    aud: ['a', 'b'],
    ...times,
  })
  for (const claims of [null, undefined, 'a', 5, [], () => 0]) {
    t.equal(thrownBy(() => of(claims as object)).code, 'ERR_AUTH_CLAIMS')
  }
})

t.test('times are signed as whole seconds, and anything but a time is an error', async (t) => {
  const claims = Object.freeze({ sub: 'a', exp: 9.9, nbf: 1, iat: 5.5, other: 0.5 })
  t.strictSame(claimsToSign(claims, { ...plain, expiry: 60 }), {
    sub: 'a',
    exp: 9,
    nbf: 1,
    iat: 5,
    other: 0.5,
  })
  const wrong = ['5', null, [5], new Date(), true, 5n, NaN, Infinity, 0, 0.9, -5]
  for (const claim of ['nbf', 'exp', 'iat']) {
    for (const value of wrong) {
      const { code, message } = thrownBy(() =>
        claimsToSign({ [claim]: value }, { ...plain, expiry: 60 }),
      )
      t.equal(code, 'ERR_AUTH_CLAIMS')
      t.match(message, `claim "${claim}": found`)
    }
  }
})
