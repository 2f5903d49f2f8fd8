import t from 'tap'
import { configFromEnv } from '../../lib/options/environment.js'
import { thrownBy } from '../helpers/errors.js'

t.test('nothing set: nothing there, so that spreading it sets no option', async (t) => {
  t.strictSame(configFromEnv({}), {})
  t.strictSame(configFromEnv({ PATH: '/bin', AUTH_OTHER: 'x', auth_jwt_secret: 'x' }), {})
  t.strictSame(configFromEnv({ AUTH_JWT_SECRET: '', AUTH_JWT_EXPIRY: '' }), {}, 'empty is not set')
  t.strictSame(configFromEnv({ AUTH_JWT_RSA_PUBLIC: undefined }), {})
})

t.test('every entry', async (t) => {
  t.strictSame(
    configFromEnv({
      AUTH_JWT_SECRET: 'secret',
      AUTH_JWT_KEYS: 'keys/ring.json',
      AUTH_JWT_EXPIRY: '900',
      AUTH_JWT_RSA_PRIVATE: 'rsa.pem',
      AUTH_JWT_RSA_PUBLIC: 'rsa.pub.pem',
      AUTH_JWT_RSA_PASSPHRASE: 'one',
      AUTH_JWT_ECDSA_PRIVATE: 'ec.pem',
      AUTH_JWT_ECDSA_PUBLIC: 'ec.pub.pem',
      AUTH_JWT_ECDSA_PASSPHRASE: 'two',
      AUTH_JWT_EDDSA_PRIVATE: 'ed.pem',
      AUTH_JWT_EDDSA_PUBLIC: 'ed.pub.pem',
      AUTH_JWT_EDDSA_PASSPHRASE: 'three',
      AUTH_BASIC_USERNAME: 'admin',
      AUTH_BASIC_PASSWORD: 'pass',
    }),
    {
      jwt: {
        secret: 'secret',
        keys: 'keys/ring.json',
        expiry: 900,
        rsa: { private: 'rsa.pem', public: 'rsa.pub.pem', passphrase: 'one' },
        ecdsa: { private: 'ec.pem', public: 'ec.pub.pem', passphrase: 'two' },
        eddsa: { private: 'ed.pem', public: 'ed.pub.pem', passphrase: 'three' },
      },
      basic: { username: 'admin', password: 'pass' },
    },
  )
})

t.test('only what is set', async (t) => {
  t.strictSame(configFromEnv({ AUTH_JWT_ECDSA_PUBLIC: 'ec.pub.pem' }), {
    jwt: { ecdsa: { public: 'ec.pub.pem' } },
  })
  t.strictSame(configFromEnv({ AUTH_BASIC_USERNAME: 'admin', AUTH_BASIC_PASSWORD: '' }), {
    basic: { username: 'admin' },
  })
  t.strictSame(configFromEnv({ AUTH_JWT_SECRET: ' ' }), { jwt: { secret: ' ' } }, 'not trimmed')
})

t.test('the expiry is whole seconds', async (t) => {
  for (const text of ['1', '300', '315360000']) {
    t.strictSame(configFromEnv({ AUTH_JWT_EXPIRY: text }), { jwt: { expiry: Number(text) } })
  }
  const wrong = [
    '0',
    '-1',
    '1.5',
    '5m',
    '0x10',
    '1e3',
    ' 5',
    '5 ',
    '05',
    'NaN',
    '315360001',
    '31536000000',
  ]
  for (const text of wrong) {
    const { code, message } = thrownBy(() => configFromEnv({ AUTH_JWT_EXPIRY: text }))
    t.equal(code, 'ERR_AUTH_OPTION', text)
    const found = `environment variable AUTH_JWT_EXPIRY: found ${JSON.stringify(text)}, expected`
    t.ok(message.includes(found), message)
    t.match(message, 'whole seconds')
  }
})

t.test('what is no time may be a secret in the wrong variable: it is not quoted', async (t) => {
  for (const text of ['hunter2', 'open sesame', 'f'.repeat(64), '9'.repeat(1_000_000)]) {
    const { code, message } = thrownBy(() => configFromEnv({ AUTH_JWT_EXPIRY: text }))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.match(message, 'AUTH_JWT_EXPIRY: found an invalid string, expected whole seconds')
  }
})

t.test('the environment of the process, at the time of the call', async (t) => {
  t.intercept(process, 'env', { value: { AUTH_BASIC_USERNAME: 'now' } })
  t.strictSame(configFromEnv(), { basic: { username: 'now' } })
})
