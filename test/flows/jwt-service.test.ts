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
  }
})
