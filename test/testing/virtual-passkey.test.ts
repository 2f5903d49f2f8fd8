// What a browser would not do, `virtualPasskey` does not do either.
import t from 'tap'
import { virtualPasskey } from '../../lib/testing/index.js'
import { thrownBy } from '../helpers/errors.js'
import { browser, passkeysApp } from '../helpers/passkeys.js'

t.test('options for another domain, algorithm or passkey', async (t) => {
  const { ask, logIn, add } = await passkeysApp(t)
  const headers = await logIn()
  const { publicKey } = await ask('/passkeys/options', headers)
  const passkey = browser()
  const rejected = (work: () => unknown, message: RegExp) =>
    t.match(thrownBy(work), { code: 'ERR_AUTH_TESTING', message })
  rejected(() => passkey.get(publicKey), /undefined/)
  rejected(() => passkey.get({ challenge: 'x', rpId: 'shop.example' }), /create\(\) first/)
  const foreign = virtualPasskey({ origin: 'https://evil.example', rpId: 'evil.example' })
  rejected(() => foreign.create(publicKey), /"shop\.example"/)
  rejected(() => passkey.create({ ...publicKey, pubKeyCredParams: [{ alg: -257 }] }), /ES256/)
  const { excludeCredentials, ...others } = publicKey
  t.strictSame(excludeCredentials, [])
  const { id } = passkey.create(others)
  rejected(() => passkey.create({ ...publicKey, excludeCredentials: [{ id }] }), /excluded/)
  t.equal((await add(passkey, headers)).statusCode, 201)
  const twice = (await ask('/passkeys/options', headers)).publicKey
  rejected(() => passkey.create(twice), /excluded/)
  const { origin } = JSON.parse(
    Buffer.from(
      String(foreign.create({ ...publicKey, rp: { id: 'evil.example' } }).response.clientDataJSON),
      'base64url',
    ).toString(),
  ) as { origin: string }
  t.equal(origin, 'https://evil.example')
})
