import t from 'tap'
import { check } from '../../lib/options/check.js'
import { keyEntrySchema, keyFileEntrySchema } from '../../lib/options/key-set-schemas.js'
import { resolveOptions } from '../../lib/options/resolve.js'
import type { AuthnOptions } from '../../lib/index.js'
import { secret } from '../helpers/app.js'

t.test('numbers of options are accepted up to their limits, and not beyond', async (t) => {
  type Make = (value: number) => AuthnOptions
  const day = 86_400
  const cases: [
    name: string,
    make: Make,
    ...limits: [least: number, most: number, step?: number],
  ][] = [
    ['jwt.expiry', (expiry) => ({ jwt: { secret, expiry } }), 1, 3650 * day],
    ['clockTolerance', (clockTolerance) => ({ jwt: { secret, clockTolerance } }), 0, 300],
    ['reloadEvery', (reloadEvery) => ({ jwt: { keys: 'a.json', reloadEvery } }), 0, day],
    ['tokenCache.max', (max) => ({ jwt: { secret, tokenCache: { max } } }), 1, 1_000_000],
    ['maxBytes', (maxBytes) => ({ jwt: { secret, tokenCache: { maxBytes } } }), 1, 2 ** 30],
    ['maxPasswordBytes', (maxPasswordBytes) => ({ maxPasswordBytes }), 1, 4096],
    ['credentialCache.max', (max) => ({ credentialCache: { max } }), 1, 1_000_000],
    ['credentialCache.ttl', (ttl) => ({ credentialCache: { ttl } }), 0.001, 3600, 0.001],
    ['userServiceTimeout', (time) => ({ userServiceTimeout: time }), 0.001, 300, 0.001],
    ['perUsername', (perUsername) => ({ throttle: { perUsername } }), 1, 1_000_000],
    ['perAddress', (perAddress) => ({ throttle: { perAddress } }), 1, 1_000_000],
    ['window', (window) => ({ throttle: { window } }), 1, 7 * day],
  ]
  for (const [name, make, least, most, step = 1] of cases) {
    for (const value of [least, most]) t.doesNotThrow(() => resolveOptions(make(value)), name)
    for (const value of [least - step, most + step])
      t.throws(() => resolveOptions(make(value)), { code: 'ERR_AUTH_OPTION' }, `${name}: ${value}`)
  }
})

t.test('each member of a key is checked', async (t) => {
  const right = { alg: 'ES256', state: 'verify', public: 'a.pem', kid: 'k'.repeat(256) }
  const dates = { since: '2027-01-01T00:10Z', until: '2027-12-31T23:59:59.5+01:00' }
  const wrong = { alg: 'none', state: 'x', kid: 'k'.repeat(257), legacy: 'yes', secret: 1 }
  const more = { since: 'x', until: '2027-01-01T00:10', public: 1, private: {}, other: 1 }
  for (const schema of [keyEntrySchema, keyFileEntrySchema]) {
    t.doesNotThrow(() => check(schema, { ...right, ...dates, legacy: true }))
    for (const [member, value] of Object.entries({ ...wrong, ...more }))
      t.throws(
        () => check(schema, { ...right, [member]: value }),
        { code: 'ERR_AUTH_OPTION' },
        member,
      )
  }
})
