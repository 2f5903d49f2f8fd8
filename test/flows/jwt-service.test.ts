import { join, relative } from 'node:path'
import t from 'tap'
import {
  configFromEnv,
  JwtService,
  type AuthnOptions,
  type JwtConfig,
  type SigningMethod,
} from '../../lib/index.js'
import { appWith, bearer, logLines, secret512, userService } from '../helpers/app.js'
import { anyService, isWelcome, probe } from '../helpers/flows.js'
import { clientOf } from '../helpers/sessions.js'
import { keys, privatePem, publicPem } from '../helpers/tokens.js'

const withUsers = (options: AuthnOptions): AuthnOptions => ({
  userService: anyService(userService()),
  ...options,
})

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
      await appWith(t, withUsers(options), undefined, { logger: { level: 'warn', stream } })
      if (said === null) t.strictSame(lines, [])
      else t.match(lines, [{ level: 40, msg: said }])
      t.notMatch(JSON.stringify(lines), secret512)
    }
  }
})

t.test('key files at absolute and relative paths sign and verify tokens of a login', async (t) => {
  const folder = t.testdir({
    'rsa.pem': privatePem(keys.rsa.privateKey),
    'rsa.pub.pem': publicPem(keys.rsa.publicKey),
  })
  const file = join(folder, 'rsa.pem')
  const rows: [JwtConfig, SigningMethod][] = [
    [{ rsa: { private: file, public: join(folder, 'rsa.pub.pem') } }, 'RS256'],
    [{ rsa: { private: relative(process.cwd(), file) } }, 'PS512'],
  ]
  for (const [config, signingMethod] of rows) {
    const options = withUsers({ jwt: { ...config, signingMethod } })
    const app = await appWith(t, options, (app) => {
      app.get('/me', { config: { auth: true } }, probe().handler)
    })
    const { login } = clientOf(app)
    const headers = bearer((await login()).token)
    isWelcome(t, await app.inject({ url: '/me', headers }), 'alice')
  }
})
