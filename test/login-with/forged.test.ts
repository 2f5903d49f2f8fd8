import t from 'tap'
import { forgeAttempt } from '../helpers/link-app.js'
import { loginApp } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { epochSeconds } from '../helpers/tokens.js'

t.test('a browser that makes an attempt of its own does not get around max_age', async (t) => {
  const provider = await startProvider(t)
  const authorizationParams = { max_age: '600' }
  const { finish, last } = await loginApp(t, provider, { authorizationParams })
  // The same app without the option makes good attempts.
  const { begin } = await loginApp(t, provider)
  t.equal((await finish(await begin())).statusCode, 303)
  provider.idToken = { claims: { auth_time: epochSeconds() - 700 } }
  const rejected = async (begun: Parameters<typeof finish>[0], what: string) => {
    t.equal((await finish(begun)).statusCode, 401, what)
    t.match(last(), { code: 'ERR_AUTH_LOGIN_INVALID', reason: /auth_time/ })
  }
  await rejected(await begin(), 'without one')
  const begun = await begin()
  for (const maxAge of ['0', '1', '86400']) {
    const made = forgeAttempt(provider, begun.sent, { maxAge, left: 60 })
    await rejected({ ...begun, ...made }, `${maxAge}, of an attempt that began long ago`)
  }
})

t.test('an attempt that a browser has made leads nowhere else than into the app', async (t) => {
  const provider = await startProvider(t)
  const { begin, finish } = await loginApp(t, provider)
  const rows: [returnTo: string, location: string][] = [
    ['/notes', '/notes'],
    ['//evil.example', '/'],
    ['https://evil.example', '/'],
    ['javascript:alert(1)', '/'],
  ]
  for (const [returnTo, location] of rows) {
    const begun = await begin()
    const made = forgeAttempt(provider, begun.sent, { returnTo })
    t.match(await finish({ ...begun, ...made }), {
      statusCode: 303,
      headers: { location },
    })
  }
})

t.test('an attempt is of no use to a provider of the same name with another issuer', async (t) => {
  const [honest, evil] = [await startProvider(t), await startProvider(t)]
  const { finish, last } = await loginApp(t, honest)
  const { begin } = await loginApp(t, evil)
  const begun = await begin()
  // The evil provider leads the browser to the honest one, or back with a code that it has got there.
  const callback = honest.visit(new URL(String(begun.response.headers.location)))
  t.equal((await finish({ ...begun, callback })).statusCode, 401)
  t.equal(last().code, 'ERR_AUTH_LOGIN_STATE')
})
