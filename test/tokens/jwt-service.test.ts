import t from 'tap'
import { configFromEnv, JwtService } from '../../lib/index.js'
import { appWith, logLines, secret512, userService } from '../helpers/app.js'

t.test('an expiry of more than a day gives a warning with the number of days', async (t) => {
  const day = 86_400
  const rows: [expiry: number, said: RegExp | null][] = [
    [day, null],
    [day + 1, /1 days/],
    [900_000, /10\.4 days/],
    [3650 * day, /3650 days/],
  ]
  for (const [expiry, said] of rows) {
    for (const options of [
      { jwt: { secret: secret512, expiry } },
      { jwtService: new JwtService({ secret: secret512, expiry }) },
      configFromEnv({ AUTH_JWT_SECRET: secret512, AUTH_JWT_EXPIRY: String(expiry) }),
    ]) {
      const { lines, stream } = logLines()
      const server = { logger: { level: 'warn', stream } }
      await appWith(t, { userService: userService(), ...options }, undefined, server)
      if (said === null) t.strictSame(lines, [])
      else t.match(lines, [{ level: 40, msg: said }])
      t.notMatch(JSON.stringify(lines), secret512)
    }
  }
})
