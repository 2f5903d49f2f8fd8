import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import {
  configFromEnv,
  JwtService,
  type AuthnOptions,
  type JwtConfig,
  type SigningMethod,
} from '../../lib/index.js'
import { appWith, bearer, logLines, passwords, secret512, userService } from '../helpers/app.js'
import { anyService, isWelcome, probe } from '../helpers/flows.js'
import { keys, privatePem, publicPem } from '../helpers/tokens.js'

const login = {
  method: 'POST',
  url: '/login',
  payload: { username: 'alice', password: passwords.alice },
} as const
const passphrase = 'open sesame please'
const encrypted = keys.rsa.privateKey.export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase,
}) as string

const users = (): AuthnOptions => ({ userService: anyService(userService()) })

t.test('an expiry of more than a day gives a warning with the number of days', async (t) => {
  const day = 86_400
  const rows: [expiry: number, said: RegExp | null][] = [
    [day, null],
    [day + 1, /1 days/],
    [900_000, /10\.4 days/],
    [30 * day, /30 days/],
    [3650 * day, /3650 days/],
  ]
  for (const [expiry, said] of rows) {
    for (const options of [
      { jwt: { secret: secret512, expiry } },
      { jwtService: new JwtService({ secret: secret512, expiry }) },
      configFromEnv({ AUTH_JWT_SECRET: secret512, AUTH_JWT_EXPIRY: String(expiry) }),
    ]) {
      const { lines, stream } = logLines()
      const logger = { level: 'warn', stream }
      await appWith(t, { ...users(), ...options }, () => undefined, { logger })
      if (said === null) t.strictSame(lines, [])
      else t.match(lines, [{ level: 40, msg: said }])
      t.notMatch(JSON.stringify(lines), secret512)
    }
  }
})

/** Where keys may come from, each with the method that they sign with. */
function sources(folder: string): Record<string, [JwtConfig, SigningMethod]> {
  mkdirSync(folder, { recursive: true })
  const file = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const rsa = file('rsa.pem', privatePem(keys.rsa.privateKey))
  const rsaPublic = file('rsa.pub.pem', publicPem(keys.rsa.publicKey))
  const ec = file('ec.pem', privatePem(keys.p256.privateKey))
  return {
    'HS512, a secret': [{ secret: secret512 }, 'HS512'],
    'HS256, bytes': [{ secret: Buffer.alloc(32, 1) }, 'HS256'],
    'RS256, absolute paths': [{ rsa: { private: rsa, public: rsaPublic } }, 'RS256'],
    'PS512, a relative path': [{ rsa: { private: relative(process.cwd(), rsa) } }, 'PS512'],
    'ES256, a path': [{ ecdsa: { private: ec } }, 'ES256'],
    'ES384, PEM text': [{ ecdsa: { private: privatePem(keys.p384.privateKey) } }, 'ES384'],
    'ES512, PEM text with \\n': [
      { ecdsa: { private: privatePem(keys.p521.privateKey).replaceAll('\n', '\\n') } },
      'ES512',
    ],
    'EdDSA, PEM text': [{ eddsa: { private: privatePem(keys.ed25519.privateKey) } }, 'EdDSA'],
    'RS384, an encrypted key': [{ rsa: { private: encrypted, passphrase } }, 'RS384'],
    'RS512, an encrypted file': [
      { rsa: { private: file('encrypted.pem', encrypted), passphrase } },
      'RS512',
    ],
  }
}

t.test('keys of every kind and place sign and verify tokens of a login', async (t) => {
  for (const [name, [config, signingMethod]] of Object.entries(sources(t.testdir()))) {
    await t.test(name, async (t) => {
      const { handler } = probe()
      const app = await appWith(
        t,
        { ...users(), jwt: { ...config, signingMethod } },
        (app) => void app.get('/me', { config: { auth: true } }, handler),
      )
      const response = await app.inject(login)
      t.equal(response.statusCode, 200)
      const { token } = response.json<{ token: string }>()
      isWelcome(t, await app.inject({ url: '/me', headers: bearer(token) }), 'alice')
      const own = app.jwtService.generateToken('bob')
      isWelcome(t, await app.inject({ url: '/me', headers: bearer(own) }), 'bob')
    })
  }
})
