import t from 'tap'
import { algorithms, signingMethods } from '../../lib/common/algorithms.js'

t.test('one row a signing method, as RFC 7518 §3.1 and RFC 8037 §3.1 have them', async (t) => {
  t.same(
    { ...algorithms },
    {
      HS256: { family: 'secret', minimumBits: 256 },
      HS384: { family: 'secret', minimumBits: 384 },
      HS512: { family: 'secret', minimumBits: 512 },
      RS256: { family: 'rsa', minimumBits: 2048 },
      RS384: { family: 'rsa', minimumBits: 2048 },
      RS512: { family: 'rsa', minimumBits: 2048 },
      PS256: { family: 'rsa', minimumBits: 2048 },
      PS384: { family: 'rsa', minimumBits: 2048 },
      PS512: { family: 'rsa', minimumBits: 2048 },
      ES256: { family: 'ecdsa', curve: 'prime256v1' },
      ES384: { family: 'ecdsa', curve: 'secp384r1' },
      ES512: { family: 'ecdsa', curve: 'secp521r1' },
      EdDSA: { family: 'eddsa' },
    },
  )
  t.same(signingMethods, Object.keys(algorithms))
})

t.test('what is no signing method has no row, whatever Object.prototype has', async (t) => {
  const rows = algorithms as Readonly<Record<string, unknown>>
  for (const name of ['none', 'None', 'hs256', '', 'constructor', '__proto__', 'toString']) {
    t.equal(rows[name], undefined, name)
    t.notOk(signingMethods.includes(name as never), name)
  }
})
