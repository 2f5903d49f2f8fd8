import t from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { appWith, userService } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'

const users = { userService: userService() }
const apiKey = { authenticate: () => ({ name: 'key' }) }

const start = (options: AuthnOptions, mark: unknown = true): ReturnType<typeof appWith> =>
  appWith(t, options, (app) => app.get('/me', { config: { auth: mark as true } }, () => 'me'))

t.test('startup fails for a mark if there are users, but no jwt', async (t) => {
  for (const options of [
    {},
    { basic: { username: 'admin', password: 'open sesame' } },
    { login: false as const },
    { jwt: undefined },
    { authenticators: {} },
  ]) {
    const { code, message } = await rejectionOf(start({ ...users, ...options }))
    t.equal(code, 'ERR_AUTH_OPTION')
    const remedy = /"userService" is set.*AUTH_JWT_SECRET.*--env-file=\.env.*authenticator: 'basic'/
    t.match(message, remedy)
  }
})

t.test('startup fails for a mark without use beside custom authenticators', async (t) => {
  const options = { ...users, authenticators: { apiKey } }
  const { code, message } = await rejectionOf(start(options))
  t.equal(code, 'ERR_AUTH_MARK')
  t.match(message, /there is no authenticator for its requests/)
  t.ok(await start(options, { use: 'apiKey' }))
  t.ok(await start({ ...options, authenticator: 'apiKey' }))
  t.ok(await start({ authenticators: { apiKey } }), 'without users, the only one there is')
})

t.test('startup fails for a mark that names an authenticator where there is none', async (t) => {
  t.match(await rejectionOf(start({}, { use: 'jwt' })), {
    message: /use names "jwt".*Known: none\./,
  })
})
