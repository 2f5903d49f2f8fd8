import t from 'tap'
import { configFromEnv } from '../../lib/options/environment.js'
import { thrownBy } from '../helpers/errors.js'

t.test('configFromEnv() returns an empty object if no variable is set', async (t) => {
  t.strictSame(configFromEnv({}), {})
  t.strictSame(configFromEnv({ PATH: '/bin', AUTH_OTHER: 'x', auth_jwt_secret: 'x' }), {})
  t.strictSame(configFromEnv({ AUTH_JWT_SECRET: '', AUTH_JWT_EXPIRY: '' }), {}, 'empty is not set')
  t.strictSame(configFromEnv({ AUTH_JWT_RSA_PUBLIC: undefined }), {})
})

t.test('configFromEnv() reads every variable into its option', async (t) => {
  t.strictSame(
    configFromEnv({
      AUTH_JWT_SECRET: 'secret',
      AUTH_JWT_KEYS: 'keys/keys.json',
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
        keys: 'keys/keys.json',
        expiry: 900,
        rsa: { private: 'rsa.pem', public: 'rsa.pub.pem', passphrase: 'one' },
        ecdsa: { private: 'ec.pem', public: 'ec.pub.pem', passphrase: 'two' },
        eddsa: { private: 'ed.pem', public: 'ed.pub.pem', passphrase: 'three' },
      },
      basic: { username: 'admin', password: 'pass' },
    },
  )
})

t.test('configFromEnv() leaves out what is not set', async (t) => {
  t.strictSame(configFromEnv({ AUTH_JWT_ECDSA_PUBLIC: 'ec.pub.pem' }), {
    jwt: { ecdsa: { public: 'ec.pub.pem' } },
  })
  t.strictSame(configFromEnv({ AUTH_BASIC_USERNAME: 'admin', AUTH_BASIC_PASSWORD: '' }), {
    basic: { username: 'admin' },
  })
  t.strictSame(configFromEnv({ AUTH_JWT_SECRET: ' ' }), { jwt: { secret: ' ' } }, 'not trimmed')
})

t.test('AUTH_JWT_EXPIRY must be whole seconds, and what may be secret is not quoted', async (t) => {
  for (const text of ['1', '300', '315360000']) {
    t.strictSame(configFromEnv({ AUTH_JWT_EXPIRY: text }), { jwt: { expiry: Number(text) } })
  }
  const shown = ['0', '-1', '1.5', '5m', '0x10', ' 5', '05', 'NaN', '315360001']
  const hidden = ['hunter2', 'open sesame', 'f'.repeat(64), '9'.repeat(1_000_000)]
  for (const text of [...shown, ...hidden]) {
    const found = shown.includes(text) ? JSON.stringify(text) : 'an invalid string'
    const message = `AUTH_JWT_EXPIRY: found ${found}, expected whole seconds`
    const thrown = thrownBy(() => configFromEnv({ AUTH_JWT_EXPIRY: text }))
    t.match(thrown, { code: 'ERR_AUTH_OPTION', message })
  }
})

t.test('configFromEnv() without arguments reads process.env when it is called', async (t) => {
  t.intercept(process, 'env', { value: { AUTH_BASIC_USERNAME: 'now' } })
  t.strictSame(configFromEnv(), { basic: { username: 'now' } })
})
