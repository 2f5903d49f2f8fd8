import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import t from 'tap'
import { publicJwk, thumbprintOf } from '../../../lib/jwt/ring/thumbprint.js'
import { moreKeys } from '../../helpers/keys.js'
import { keys } from '../../helpers/tokens.js'

t.test('the example of RFC 7638 section 3.1', async (t) => {
  const n =
    '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw'
  const key = createPublicKey({ key: { kty: 'RSA', n, e: 'AQAB' }, format: 'jwk' })
  t.equal(thumbprintOf(key), 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
})

t.test('the example of RFC 8037 appendix A.3', async (t) => {
  const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'
  const d = 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A'
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', x, d }, format: 'jwk' })
  t.equal(thumbprintOf(key), 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
})

t.test('every kind of key: as jose has it, and only public members', async (t) => {
  const pairs = { ...keys, ed448: moreKeys.ed448 }
  for (const [name, { privateKey, publicKey }] of Object.entries(pairs)) {
    const jwk = (key: KeyObject) => key.export({ format: 'jwk' })
    t.equal(thumbprintOf(privateKey), await calculateJwkThumbprint(jwk(publicKey) as never), name)
    t.equal(thumbprintOf(publicKey), thumbprintOf(privateKey))
    t.same(publicJwk(privateKey), jwk(publicKey))
    t.notMatch(Object.keys(publicJwk(privateKey)), ['d'])
  }
})
