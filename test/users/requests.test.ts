// A user service that fails, or never answers, in whole requests. All that it may do: find.test.ts.
import t from 'tap'
import { appWith, basic, bearer, passwords, secret, userService } from '../helpers/app.js'
import { isFault, isRejection, probe, serviceOf } from '../helpers/flows.js'
import { busy, login } from '../helpers/load.js'

for (const use of ['login', 'basic', 'jwt'] as const) {
  t.test(`${use}: a failing user service is a 500, one that never answers a 503`, async (t) => {
    const good = userService()
    let told: (() => unknown) | null = null
    const { handler, take } = probe()
    const options = {
      userService: serviceOf((name, request) =>
        told === null ? good.findByUsername(name, request) : told(),
      ),
      jwt: { secret },
      userServiceTimeout: 0.02,
    }
    const app = await appWith(t, options, (app) => {
      for (const mode of [true, 'try'] as const)
        app.get(
          `/${mode}`,
          { config: { auth: { mode, use: use === 'jwt' ? use : 'basic' } } },
          handler,
        )
    })
    const headers =
      use === 'jwt'
        ? bearer(app.jwtService.generateToken('alice'))
        : basic('alice', passwords.alice)
    for (const url of ['/true', '/try']) {
      const enter = () =>
        use === 'login' ? login(app, 'alice', passwords.alice) : app.inject({ url, headers })
      told = () => Promise.reject(new Error('no such table'))
      isFault(t, await enter(), 'ERR_AUTH_USER_SERVICE', url)
      told = () => new Promise(() => undefined)
      const late = await enter()
      isRejection(t, late, { status: 503, error: busy, challenge: null }, url)
      t.equal(late.headers['retry-after'], '1')
      t.equal(take(), 0, 'the handler did not run')
      told = null
      t.equal((await enter()).statusCode, 200)
      take()
    }
  })
}
