import t from 'tap'
import { createEngine } from '../../lib/tokens/engine.js'
import { hmacSecret } from '../helpers/keys.js'
import { hmacToken } from '../helpers/tokens.js'

const key = Buffer.from(hmacSecret)
const { sign, verify: verified } = createEngine({ sign: key, verify: key }, 'HS256')

t.test('claims are frozen at every depth, even where recursion would overflow', async (t) => {
  const depth = 200_000
  const text = `{"n":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const claims = verified(hmacToken({ alg: 'HS256' }, text, key)).claims as { n: unknown[] }
  t.ok(Object.isFrozen(claims))
  let frozen = 0
  for (let list: unknown = claims.n; Array.isArray(list); list = list[0]) {
    frozen += Object.isFrozen(list) ? 1 : 0
  }
  t.equal(frozen, depth)
})

t.test('an engine with an unusable key throws at once', async (t) => {
  t.throws(() => createEngine({ verify: 'no PEM' }, 'RS256'))
})

t.test('typ is signed into the header, and read without case and application/', async (t) => {
  const headerOf = (token: string): unknown =>
    JSON.parse(Buffer.from(String(token.split('.')[0]), 'base64url').toString())
  for (const claims of [{ sub: 'a' }, { sub: 'a', iat: 5 }]) {
    for (const typ of ['reset+jwt', 'application/x+jwt', 'JWT', undefined]) {
      const token = sign(claims, typ)
      t.strictSame(headerOf(token), { alg: 'HS256', typ: typ ?? 'JWT' })
      t.match(verified(token).claims, claims)
    }
  }
  // More than are kept.
  for (let each = 0; each < 40; each += 1) t.equal(verified(sign({}, `t${each}`)).typ, `t${each}`)
  const typs: [unknown, unknown][] = [
    ['JWT', 'jwt'],
    ['application/AT+JWT', 'at+jwt'],
    ['', ''],
    [null, null],
    [['JWT'], null],
    [7, null],
  ]
  for (const [typ, expected] of typs) {
    t.equal(verified(hmacToken({ alg: 'HS256', typ }, {}, key)).typ, expected)
  }
  t.equal(verified(hmacToken({ alg: 'HS256' }, {}, key)).typ, undefined)
  t.equal(verified(hmacToken('{"alg":"HS256","__proto__":{"typ":"x"}}', {}, key)).typ, undefined)
})
