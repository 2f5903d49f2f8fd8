// What the app is offered by type and has only with an option: app.jwtService, app.authn.sessions and app.authn.apiKeys.
import { inspect } from 'node:util'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import t from 'tap'
import { authn, JwtService, type JwtConfig } from '../../lib/index.js'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { appWith, secret, standardOptions, fastify } from '../helpers/app.js'
import { keys as pairs, privatePem } from '../helpers/tokens.js'

const basic = { username: 'admin', password: 'geheim' }

const reads: Record<string, (app: FastifyInstance) => unknown> = {
  '"jwt" or "jwtService"': (app) => app.jwtService.generateToken('alice'),
  '"sessions"': (app) => app.authn.sessions.list('alice'),
  '"apiKeys"': (app) => app.authn.apiKeys.list('alice'),
}

t.test('what is read without its option throws, and names the option', async (t) => {
  const app = fastify(t)
  await app.register(authn, { basic })
  for (const when of ['before the app is ready', 'after that']) {
    for (const [option, read] of Object.entries(reads)) {
      const expected = { code: 'ERR_AUTH_OPTION', message: `option ${option} is not set` }
      t.throws(() => read(app), expected, `${option}, ${when}`)
    }
    await app.ready()
  }
})

t.test('a handler that uses sessions without the option is a 500, not an empty 200', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    app.post('/sign-up', (request, reply) => app.authn.sessions.begin('alice', request, reply))
  })
  t.equal((await app.inject({ method: 'POST', url: '/sign-up' })).statusCode, 500)
})

t.test('app.authn can be printed, copied and turned into JSON without the options', async (t) => {
  const { authn: offer } = await appWith(t, { basic })
  const passwords = ['hashPassword', 'verifyPassword', 'needsRehash']
  const names = [
    'registration',
    'authenticators',
    'features',
    'stats',
    ...passwords,
    'routes',
    'printRoutes',
  ]
  t.strictSame(Object.keys({ ...offer }), names)
  t.strictSame(JSON.parse(JSON.stringify(offer)), {
    registration: '/',
    authenticators: ['configBasic'],
    features: [],
  })
  t.match(inspect(offer), 'printRoutes')
  t.match(inspect(await appWith(t, { basic })), 'authn')
})

t.test('app.authn.features lists what the nearest registration switches on', async (t) => {
  const apiKeys = { prefix: 'acme', store: memoryApiKeys({ prefix: 'acme' }) }
  const issuer = { issuer: 'https://id.example', audience: 'api', user: () => null }
  const key = { alg: 'ES256', private: privatePem(pairs.p256.privateKey), kid: 'a', state: 'sign' }
  const publishing = { keys: [key], publish: true, validAfterField: 'since' } as JwtConfig
  const { userService } = standardOptions()
  const rows: [options: object, features: readonly string[]][] = [
    [{}, []],
    [{ userService, authenticator: 'basic' }, []],
    [{ jwt: { secret } }, ['jwt']],
    [{ jwtService: new JwtService({ secret }) }, ['jwt']],
    [standardOptions(), ['jwt', 'login']],
    [{ ...standardOptions(), login: false }, ['jwt']],
    [{ userService, login: { tokenFunc: () => 'own' } }, ['login']],
    [{ ...standardOptions(), sessions: true }, ['jwt', 'login', 'sessions']],
    [{ ...standardOptions(), sessions: false }, ['jwt', 'login']],
    [{ ...standardOptions(), apiKeys, cookies: true }, ['apiKeys', 'cookies', 'jwt', 'login']],
    [{ issuers: { corp: issuer }, authenticator: 'corp' }, ['issuers']],
    [{ userService, jwt: publishing }, ['jwks', 'jwt', 'login', 'validAfter']],
  ]
  for (const [options, features] of rows) {
    const app = fastify(t)
    await app.register(authn, options)
    t.strictSame(app.authn.features.toSorted(), features, features.join())
    t.equal('sessions' in { ...app.authn }, app.authn.features.includes('sessions'))
  }
})

t.test('an inner registration without keys has the outer service, not its sessions', async (t) => {
  const app = fastify(t)
  await app.register(authn, { ...standardOptions(), sessions: true })
  await app.register(async (scope) => {
    await scope.register(authn, { basic })
    t.equal(scope.jwtService, app.jwtService)
    t.strictSame(scope.authn.features, [])
    t.throws(() => scope.authn.sessions, { code: 'ERR_AUTH_OPTION' })
  })
  await app.ready()
  t.strictSame(await app.authn.sessions.list('alice'), [])
})

t.test('app.jwtService throws outside of the scope whose registration has keys', async (t) => {
  const app = fastify(t)
  await app.register(async (scope) => {
    await scope.register(authn, standardOptions())
    t.type(scope.jwtService, JwtService)
  })
  await app.ready()
  t.throws(() => app.jwtService, { code: 'ERR_AUTH_OPTION' })
})

t.test('without keys, the app or another plugin may decorate jwtService', async (t) => {
  const own = { sign: () => 'own' }
  const other = fp(async (app: FastifyInstance) => void app.decorate('jwtService', own as never))
  const ours = (app: FastifyInstance) => app.register(authn, { basic })
  const theirs = (app: FastifyInstance) => app.register(other)
  const getter = (app: FastifyInstance) =>
    app.decorate('jwtService', { getter: () => own as never })
  const orders: Record<string, ((app: FastifyInstance) => unknown)[]> = {
    before: [theirs, ours],
    after: [ours, theirs],
    'after, as a getter': [ours, getter],
    'after two registrations': [ours, ours, theirs],
  }
  for (const [title, steps] of Object.entries(orders)) {
    const app = fastify(t)
    for (const step of steps) await step(app)
    await app.register(async (scope) => {
      t.equal(scope.jwtService, own, `${title}: an inner scope`)
    })
    await app.ready()
    t.equal(app.jwtService, own, title)
  }
  const app = fastify(t)
  await ours(app)
  await app.register(async (scope) => {
    scope.decorate('jwtService', own as never)
    t.equal(scope.jwtService, own)
  })
  t.throws(() => app.jwtService, { code: 'ERR_AUTH_OPTION' })
})
