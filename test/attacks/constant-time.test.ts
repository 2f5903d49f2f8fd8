// The time that a comparison with `===` takes tells how much of a guess is right (CWE-208).
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import t from 'tap'
import { newKey, sealed } from '../../lib/api-keys/key.js'
import { hashPassword, verifyPassword } from '../../lib/index.js'
import { stepOf } from '../../lib/second-factor/totp.js'
import { job, keyApp, prefix } from '../helpers/api-keys.js'
import { appWith, basic, bearer } from '../helpers/app.js'
import { assertionOf, credentialOf } from '../helpers/authenticator.js'
import { passkeysApp } from '../helpers/passkeys.js'

t.test('stored secrets are compared in constant time, in all their bytes', async (t) => {
  const lengths: number[] = []
  const { timingSafeEqual } = crypto
  const isSame: typeof timingSafeEqual = (one, other) => {
    lengths.push(one.byteLength)
    return timingSafeEqual(one, other)
  }
  const stored = await hashPassword('wonderland', { algorithm: 'scrypt', cost: 10 })
  const options = { basic: { username: 'admin', password: 'open sesame' } }
  const admin = await appWith(t, options, (app) => {
    app.get('/admin', { config: { auth: { use: 'configBasic' } } }, () => 'in')
  })
  const { get, issued } = await keyApp(t)
  const { ask, post } = await passkeysApp(t)
  t.teardown(syncBuiltinESMExports)
  t.intercept(crypto, 'timingSafeEqual', { value: isSame })
  syncBuiltinESMExports()
  const guess = sealed(issued.key.slice(0, 21) + newKey(prefix, job).issued.key.slice(21, -6))
  const { token, publicKey } = await ask('/login/passkey/options')
  const response = assertionOf(credentialOf(1), publicKey.challenge)
  const guesses: [string, () => unknown][] = [
    ['a password', () => verifyPassword('wonderlanD', stored)],
    ['a configured password', () => admin.inject({ url: '/admin', headers: basic('admin', 'x') })],
    ['an API key', () => get('/apiKey', bearer(guess))],
    ['a code', () => stepOf('c'.repeat(27), '000000', 0)],
    ['a challenge', () => post('/login/passkey', { token, response })],
  ]
  for (const [title, work] of guesses) {
    lengths.length = 0
    await work()
    t.ok(
      lengths.length > 0 && lengths.every((length) => length >= 6),
      `${title}: ${lengths.join()}`,
    )
  }
})
