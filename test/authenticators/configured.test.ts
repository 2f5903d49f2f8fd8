import bcrypt from 'bcrypt'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import authn from '../../lib/index.js'
import { rejectionOf } from '../helpers/errors.js'
import type { AuthnOptions } from '../../types/options.js'

const password = bcrypt.hashSync('wonderland', 4)
const userService = {
  findByUsername: (name: unknown) => (name === 'alice' ? { name, password } : null),
}
const apiKey = { authenticate: () => ({ name: 'key' }) }

async function start(options: AuthnOptions, mark: unknown = true): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, options)
  app.get('/me', { config: { auth: mark as true } }, (request) => request.user)
  await app.ready()
  return app
}

t.test('startup fails for a mark if there are users, but no jwt', async (t) => {
  for (const options of [
    { userService },
    { userService, basic: { username: 'admin', password: 'open sesame' } },
    { userService, login: false as const },
    { userService, jwt: undefined },
    { userService, authenticators: {} },
  ]) {
    const { code, message } = await rejectionOf(start(options))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.match(
      message,
      /"userService" is set.*AUTH_JWT_SECRET.*--env-file=\.env.*authenticator: 'basic'/,
    )
  }
})

t.test('a mark without use asks for Basic where the option authenticator says so', async (t) => {
  const app = await start({ userService, authenticator: 'basic' })
  const authorization = `Basic ${Buffer.from('alice:wonderland').toString('base64')}`
  t.equal((await app.inject({ url: '/me', headers: { authorization } })).statusCode, 200)
  t.equal((await app.inject('/me')).statusCode, 401)
})

t.test('startup fails for a mark without use beside custom authenticators', async (t) => {
  const options = { userService, authenticators: { apiKey } }
  const { code, message } = await rejectionOf(start(options))
  t.equal(code, 'ERR_AUTH_MARK')
  t.match(message, /there is no authenticator for its requests/)
  t.ok(await start(options, { use: 'apiKey' }))
  t.ok(await start({ ...options, authenticator: 'apiKey' }))
  t.ok(await start({ authenticators: { apiKey } }), 'without users, the only one there is')
})

t.test('startup fails for a mark that names an authenticator where there is none', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, {})
  app.get('/', { config: { auth: { use: 'jwt' } } }, () => 'open')
  const error = await rejectionOf(Promise.resolve(app.ready()))
  t.match(error.message, /use names "jwt".*Known: none\./)
})
