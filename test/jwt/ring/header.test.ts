// Also holds lib/jwt/unverified.ts.
import t from 'tap'
import { keyNameOf } from '../../../lib/jwt/ring/header.js'
import { thrownBy } from '../../helpers/errors.js'
import { encode } from '../../helpers/tokens.js'

t.test('the name of the key, and nothing else', async (t) => {
  const alg = 'ES256'
  t.strictSame(keyNameOf(encode({ alg, kid: 'k' })), { alg, kid: 'k' })
  t.strictSame(keyNameOf(encode({ alg, typ: 'JWT' })), { alg, kid: undefined })
  t.strictSame(keyNameOf(encode({ alg, jku: 'https://x', jwk: {}, x5u: 'y', x5c: [] })), {
    alg,
    kid: undefined,
  })
  t.strictSame(keyNameOf(encode('{"alg":"ES256","__proto__":{"kid":"k"}}')), {
    alg,
    kid: undefined,
  })
})

t.test('a header that is none, and a kid that is no name', async (t) => {
  const headers = [null, 1, 'x', '"x"', '{', '', '\u0000', []]
  for (const header of headers) {
    const { code, error } = thrownBy(() => keyNameOf(encode(header)))
    t.strictSame([code, error.cause], ['ERR_AUTH_JWT_INVALID', 'header'], JSON.stringify(header))
  }
  for (const kid of [null, 1, '', [], ['k'], {}, true, false]) {
    const { code, error } = thrownBy(() => keyNameOf(encode({ alg: 'ES256', kid })))
    t.strictSame([code, error.cause], ['ERR_AUTH_JWT_INVALID', 'kid'], JSON.stringify(kid))
  }
  t.equal(thrownBy(() => keyNameOf('')).code, 'ERR_AUTH_JWT_INVALID')
  t.equal(thrownBy(() => keyNameOf('no header')).code, 'ERR_AUTH_JWT_INVALID')
})

t.test('a polluted Object.prototype names no key', async (t) => {
  const prototype = Object.prototype as { kid?: unknown }
  prototype.kid = 'k'
  t.teardown(() => delete prototype.kid)
  t.equal(keyNameOf(encode({ alg: 'ES256' })).kid, undefined)
})
