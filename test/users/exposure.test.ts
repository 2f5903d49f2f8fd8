import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { storedUser, type Authenticator } from '../../lib/index.js'
import { userFromContext } from '../../lib/request/context.js'
import { appWith, basic, bearer, logLines, passwords, secret, users } from '../helpers/app.js'
import { serviceOf } from '../helpers/flows.js'

const hash = users[0]?.password ?? ''

/** Every handler that a newcomer might write. */
function declareLeaks(app: FastifyInstance, use: string | readonly string[]): void {
  const config = { auth: { use } }
  const properties = { name: { type: 'string' }, password: { type: 'string' } }
  const listed = { response: { 200: { type: 'object', properties } } }
  const loose = { response: { 200: { type: 'object', additionalProperties: true } } }
  app.get('/returned', { config }, async (request) => request.user)
  app.get('/sent', { config }, (request, reply) => reply.send(request.user))
  app.get('/nested', { config }, (request) => ({ user: request.user, users: [request.user] }))
  app.get('/spread', { config }, (request) => ({ ...request.user, name: 'alice' }))
  app.get('/context', { config }, () => userFromContext())
  app.get('/schema', { config, schema: listed }, (request) => request.user)
  app.get('/loose-schema', { config, schema: loose }, (request) => request.user)
  app.get('/logged', { config }, (request) => {
    request.log.info({ user: request.user }, 'seen')
    request.log.info(request.user)
    return 'alice'
  })
}
const urls = ['returned', 'sent', 'nested', 'spread', 'context', 'schema', 'loose-schema', 'logged']

class Entity {
  id = 1
  name = 'alice'
  password = hash
  earlierPasswords = [hash]
}

t.test('no handler sends or logs a hash, whichever authenticator found the user', async (t) => {
  const { lines, stream } = logLines()
  const custom: Authenticator = { authenticate: () => new Entity() }
  const userService = serviceOf(() => new Entity())
  const app = await appWith(
    t,
    { userService, jwt: { secret }, authenticators: { custom } },
    async (app) => {
      for (const use of ['jwt', 'basic', 'custom'])
        await app.register(async (app) => declareLeaks(app, use), { prefix: `/${use}` })
      await app.register(async (app) => declareLeaks(app, ['jwt', 'basic']), { prefix: '/any' })
    },
    { logger: { level: 'trace', stream } },
  )
  const password = basic('alice', passwords.alice)
  const token = bearer(app.jwtService.generateToken('alice'))
  const headers = { jwt: token, basic: password, any: password, custom: {} }
  for (const [use, credentials] of Object.entries(headers)) {
    for (const url of urls) {
      const response = await app.inject({ url: `/${use}/${url}`, headers: credentials })
      t.equal(response.statusCode, 200, `${use} ${url}`)
      t.match(response.body, 'alice')
      t.notMatch(response.body, /password|\$2[aby]\$/)
    }
  }
  t.match(JSON.stringify(lines), 'alice')
  t.notMatch(JSON.stringify(lines), /\$2[aby]\$/)
})

t.test('tokenFunc and storedUser() get the stored record, request.user a view of it', async (t) => {
  const record = new Entity()
  const seen: unknown[] = []
  const tokenFunc = (request: unknown, user: object): string => {
    seen.push(user === record, (request as { user: unknown }).user)
    return 'token'
  }
  const options = { userService: serviceOf(() => record), jwt: { secret }, login: { tokenFunc } }
  const app = await appWith(t, options, (app) => {
    app.get('/', { config: { auth: true } }, (request) => {
      seen.push(storedUser(request) === record, request.user === userFromContext())
      return {}
    })
    app.get('/open', (request) => ({ stored: storedUser(request), user: request.user }))
  })
  const payload = { username: 'alice', password: passwords.alice }
  const login = await app.inject({ method: 'POST', url: '/login', payload })
  t.equal(login.body, '{"token":"token"}')
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  t.strictSame(seen, [true, null, true, true])
  t.strictSame((await app.inject({ url: '/open', headers })).json(), { stored: null, user: null })
})

t.test('a user with a getter that throws is a fault on routes and at login', async (t) => {
  const user = {
    name: 'a',
    password: hash,
    get secret(): never {
      throw new Error('the keys of the vault')
    },
  }
  const options = { userService: serviceOf(() => user), jwt: { secret } }
  const app = await appWith(t, options, (app) => {
    app.get('/', { config: { auth: { use: 'basic' } } }, () => 'in')
  })
  const payload = { username: 'a', password: passwords.alice }
  const login = await app.inject({ method: 'POST', url: '/login', payload })
  const onRoute = await app.inject({ url: '/', headers: basic('a', passwords.alice) })
  for (const response of [login, onRoute]) {
    t.equal(response.statusCode, 500)
    t.notMatch(response.body, /vault|token/)
  }
})
